/**
 * The tables and the programs at the sockets of this node: one for both families, because a socket of one may ask for an
 * address of the other. Each family knows what it wrote; what both share is here, and only one of them writes at a time.
 */
import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { RouteKey } from '../../core/route.ts'
import { OneAtATime } from '../../core/sync/one-at-a-time.ts'
import type { SyncSteps } from '../../core/sync/sync-steps.ts'
import { BpfError } from '../../dataplane/ebpf/bpf-error.ts'
import type { Bpf } from '../../dataplane/ebpf/bpf.ts'
import type { ProgramImage } from '../../dataplane/ebpf/program-image.ts'
import { tracedBpf } from '../../dataplane/ebpf/traced-bpf.ts'
import { otherFamily } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { adopt } from './adopt.ts'
import type { Arena } from './arena.ts'
import { generationStep } from './config-steps.ts'
import { editSockets, retire } from './edit.ts'
import type { SocketEdit } from './edit.ts'
import type { SocketRoute } from './frontends-of.ts'
import { HookLinks } from './hook-links.ts'
import { pinsOfLayouts } from './layout-folders.ts'
import { layoutVersion, mapSpecs } from './layout.ts'
import { OtherLayouts } from './other-layouts.ts'
import type { SocketPlan } from './plan.ts'
import type { NodeState, SocketSettings } from './settings.ts'
import { needsOf, needsWhatRests, newNeedsOf, sumOf } from './sizes.ts'
import type { MapSpecs, Needs } from './sizes.ts'
import type { Step } from './steps.ts'
import { TableDamage } from './table-damage.ts'
import { TableRoom, usageOf, wakeAll } from './table-room.ts'
import type { Usage } from './table-room.ts'
import { StaleSockets } from './stale-sockets.ts'
import type { StaleSocketsOptions } from './stale-sockets.ts'
import { TablesOwner } from './tables-owner.ts'
import type { TablesOwnerOptions } from './tables-owner.ts'
import { SocketTables } from './tables.ts'
import type { TablesOptions } from './tables.ts'
import { whoServes } from './who-serves.ts'
import { WithoutRoom } from './without-room.ts'

export interface SocketBalancerOptions extends TablesOwnerOptions {
  readonly bpf: Bpf
  /** Those that this process serves. */
  readonly families: readonly Family[]
  /** A folder in a BPF file system. */
  readonly pins: string
  /** A folder of cgroup v2: all sockets of its processes, and of those below. */
  readonly cgroup: string
  /** One for each hook that the kernel has. */
  readonly programs: readonly ProgramImage[]
  /** Without it no socket is told that its endpoint has ended, so no datagram socket must be connected to one. */
  readonly stale?: StaleSocketsOptions | undefined
  /** How large the maps are at least; they grow with what is in them. */
  readonly specs?: MapSpecs
  /** Where the tables are: what lies where has this number. */
  readonly layoutNumber?: number
  readonly clock: Clock
  readonly log: Logger
}

/** What a family wants. */
export interface SocketTask {
  readonly family: Family
  /** Those that changed, or all; undefined for one that is gone. */
  readonly routes: ReadonlyMap<RouteKey, SocketRoute | undefined>
  readonly node: NodeState
}

export class SocketBalancer implements AsyncDisposable {
  readonly #options: SocketBalancerOptions
  readonly #place: TablesOptions
  readonly #links: HookLinks
  readonly #stale: StaleSockets | undefined
  readonly #turns = new OneAtATime()
  readonly #owner: TablesOwner
  readonly #room: TableRoom
  readonly #damage: TableDamage
  readonly #withoutRoom = new WithoutRoom()
  readonly #plans = new Map<Family, SocketPlan>()
  #tables: SocketTables | undefined
  /** Made ahead, with programs that use them. Nobody sees them yet. */
  #prepared: SocketTables | undefined
  /** Of a process of another version. */
  #others: OtherLayouts | undefined
  /** Families that were written beside tables of another layout, which still serve. */
  readonly #beside = new Set<Family>()
  /** Undefined: something failed, and only a look at the tables tells what is free. */
  #arena: Arena | undefined
  #isBegun = false
  #staleAtMs = -Infinity
  /** Endpoints may have ended without a word to their sockets: before this process, or in a sync that failed. */
  #mayHaveMissedEnds = true
  /** What these wrote last is out of date. */
  readonly #failing = new Set<Family>()
  /** A process is taking over, and may write. */
  #isAside = false
  /** A process that was taking over has ended, and may have written. */
  #isReclaimed = false

  constructor(options: SocketBalancerOptions) {
    const { pins, cgroup, programs, specs = mapSpecs, layoutNumber = layoutVersion, clock, log } = options
    this.#options = options
    this.#owner = new TablesOwner(options)
    this.#stale = options.stale && new StaleSockets(options.stale, options)
    this.#place = { folder: join(pins, String(layoutNumber)), specs }
    this.#links = new HookLinks({ cgroup, folder: this.#place.folder, programs, log })
    const beforeGrowing = () => {
      this.#links.forgetPrograms()
      this.#stale?.forgetProgram()
    }
    this.#room = new TableRoom({ beforeGrowing, clock, log })
    this.#damage = new TableDamage({ ...options, links: this.#links, owner: this.#owner })
  }

  /** Aborts with a TakenOverError when a sync finds that another process writes the tables. It writes nothing then. */
  get takenOver(): AbortSignal {
    return this.#owner.takenOver
  }

  /** Whose connected datagram sockets get endpoints. It may become fewer. */
  get udpConnect(): SocketSettings['udpConnect'] {
    return this.#owner.udpConnect
  }

  /** What is in the tables, for counters and questions. Undefined: nothing was written yet. */
  get tables(): Pick<SocketTables, 'maps'> | undefined {
    return this.#tables
  }

  /** How full the tables are. Undefined: nothing was written yet, or nobody knows. */
  get usage(): Usage | undefined {
    const [tables, arena] = [this.#tables, this.#arena]
    if (tables === undefined || arena === undefined) return undefined
    return usageOf(arena, tables.specs)
  }

  /**
   * On a node without tables: makes some of the usual size, and loads the programs, so that the first sync has less to do. If
   * that fails, the first sync will fail for the same reason, and say so.
   */
  prepare(): Promise<void> {
    return this.#turns.run(async () => {
      const { bpf } = this.#options
      try {
        if (this.#tables !== undefined || this.#prepared !== undefined || (await this.#isAnythingPinned())) return
        this.#prepared = await SocketTables.make(bpf, this.#place)
        await this.#links.load(bpf, this.#prepared.maps)
      } catch (error) {
        if (!(error instanceof BpfError)) throw error
        this.#forgetPrepared()
      }
    })
  }

  /** Sends only what differs. Undefined: this takes more than an edit. */
  edit(task: SocketTask, before: SocketPlan, steps: SyncSteps, signal: AbortSignal): Promise<SocketEdit | undefined> {
    return this.#inTurn(task.family, async () => {
      const [tables, arena] = [this.#tables, this.#arena]
      if (tables === undefined || arena === undefined || this.#damage.suspicionOf(task.family) !== undefined)
        return undefined
      if (this.#beside.size > 0) return undefined
      this.#owner.assertOwnerOf(tables.maps)
      if (this.#room.isTooFull(arena, tables)) return undefined
      const used = usageOf(arena, tables.specs).entries
      const routes = this.#withoutRoom.withRetries(task.family, task.routes, before, used)
      // The first is asked because it is faster.
      if (needsWhatRests(arena, needsOf(routes.values())) && needsWhatRests(arena, newNeedsOf(before, routes)))
        await wakeAll(arena, this.#options.bpf)
      const edit = steps.plan(() => editSockets(before, routes, task.node, arena), editCounts)
      if (edit.after.withoutRoom.size > 0 && this.#room.canGrow) {
        // Nothing was sent; what was taken is free again once the arena is made anew.
        this.#arena = undefined
        return undefined
      }
      await this.#send(tables, [...edit.steps, ...this.#leaseSteps(tables, task.family)], steps, signal)
      return this.#done({ ...task, routes }, edit, tables, arena, used)
    })
  }

  /** Makes everything of the family right, whatever is there. `routes` are all of them. */
  rewrite(task: SocketTask, steps: SyncSteps, signal: AbortSignal): Promise<SocketEdit> {
    const { family, routes } = task
    return this.#inTurn(family, async () => {
      const bpf = tracedBpf(this.#options.bpf, steps)
      const wanted = new Map<RouteKey, SocketRoute>()
      for (const [key, route] of routes) if (route !== undefined) wanted.set(key, route)
      const other = this.#known(otherFamily(family))
      const needs = needsOf(wanted.values())
      const others = (this.#others ??= await this.#findOthers(bpf))
      const tables = (this.#tables ??= await steps.apply(() => this.#openTables(bpf, others)))
      if (this.#isBegun) this.#owner.assertOwnerOf(tables.maps)
      else {
        this.#mayHaveMissedEnds = others.areThere || !tables.areAllNew
        if (tables.isNew('endpoint_stats') && !tables.areAllNew) this.#stale?.noteLostCounts(tables.maps)
        const generation = others.areThere ? [generationStep(await others.nextGeneration(tables.maps))] : []
        await this.#send(tables, [...generation, ...this.#owner.configSteps(tables.maps)], steps, signal)
      }
      this.#isBegun = true
      await this.#noteSuspect(family, tables)
      const routesOfOther = typeof other === 'string' ? [] : other.routesByKey.values().map(({ route }) => route)
      await steps.apply(() => this.#room.grow(tables, sumOf(needs, needsOf(routesOfOther)), bpf))
      let planned = await this.#planAll(task, { routes: wanted, needs }, other, tables, bpf, steps, signal)
      // What goes and what comes are there together for a while, and free elements may not lie side by side.
      for (let all = needs; planned.edit.after.withoutRoom.size > 0 && this.#room.canGrow;) {
        all = sumOf(all, sumOf(needs, usageOf(planned.arena, tables.specs).entries))
        await steps.apply(() => this.#room.grow(tables, all, bpf))
        planned = await this.#planAll(
          task,
          { routes: wanted, needs },
          other,
          tables,
          bpf,
          steps,
          signal,
          'use what rests',
        )
      }
      const { edit, arena } = planned
      const config = [...this.#owner.configSteps(tables.maps), ...this.#leaseSteps(tables, family)]
      await this.#send(tables, [...edit.steps, ...config], steps, signal)
      if (!this.#waitsForOther(family, others)) {
        await this.#attach(tables, bpf, steps, signal)
        await others.remove()
        this.#beside.clear()
      }
      this.#arena = arena
      this.#damage.noteRepaired(family)
      const done = this.#done(task, edit, tables, arena, usageOf(arena, tables.specs).entries)
      if (this.#mayHaveMissedEnds) this.#stale?.noteUnknown()
      if (this.#areAllWritten) this.#mayHaveMissedEnds = false
      return done
    })
  }

  /** What somebody else did to the programs and their pins. Whoever has taken over looks after them. */
  findDetached(): Promise<string | undefined> {
    return this.#turns.run(async () => {
      const tables = this.#watchedTables
      return tables && this.#damage.findDetached(tables)
    })
  }

  /** What somebody else did to the tables. */
  findDifference(family: Family): Promise<string | undefined> {
    return this.#turns.run(async () => {
      const tables = this.#watchedTables
      return tables && this.#damage.findDifference(tables, family)
    })
  }

  /**
   * The same, unless it was asked within `pauseMs` and all was well. With many Services it takes tens of milliseconds, so it is
   * done step by step: a sync waits for one of them at most.
   */
  async lookForDifference(family: Family, pauseMs: number, signal: AbortSignal): Promise<string | undefined> {
    let looksAt: SocketTables | undefined
    let look: AsyncGenerator<undefined, string | undefined> | undefined
    for (;;) {
      const step = await this.#turns.run(async () => {
        const tables = this.#watchedTables
        if (tables === undefined || tables !== (looksAt ??= tables)) return nothingToSee
        look ??= this.#damage.look(tables, family, pauseMs)
        return look.next()
      })
      if (step.done === true) return step.value
      await this.#options.clock.sleep(0, signal)
    }
  }

  /** What the repair of the other family has seen. */
  suspicionOf(family: Family): string | undefined {
    return this.#isAside ? undefined : this.#damage.suspicionOf(family)
  }

  /** A process takes over, and writes the tables before this one ends. */
  stepAside(): void {
    this.#isAside = true
  }

  /** Aborts `takenOver` if a process writes the tables that this one cannot see, such as one in another network namespace. */
  noteOwner(): void {
    const hasWritten = this.#isBegun && !this.#isAside && !this.#isReclaimed
    if (this.#tables !== undefined && hasWritten) this.#owner.noteOwnerOf(this.#tables.maps)
  }

  /** The process that was taking over has ended: if it has written already, this one writes everything anew. */
  reclaim(): void {
    this.#isAside = false
    if (this.#tables === undefined || this.#ownTables !== undefined) return
    this.#isReclaimed = true
    for (const family of this.#options.families)
      this.#damage.suspect(family, 'a process that has ended wrote the tables')
  }

  /** So that the programs go on. To be called again and again; it does nothing while this process does not work as it should. */
  async renewLease(): Promise<void> {
    await this.#turns.run(async () => {
      const tables = this.#ownTables
      await tables?.send(this.#leaseSteps(tables), new AbortController().signal)
    })
  }

  /** Tells sockets that their endpoint has ended, if some may not know; at most once a second. */
  async endStale(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const stale = this.#stale
    if (stale?.isDue !== true || this.#ownTables === undefined) return
    if (clock.monotonic() - this.#staleAtMs < staleEveryMs) return
    this.#staleAtMs = clock.monotonic()
    try {
      await stale.endAll(
        (look) =>
          this.#turns.run(async () => {
            const tables = this.#arena === undefined ? undefined : this.#ownTables
            return tables && look(tables.maps, whoServes(this.#plans.values(), this.#areAllWritten))
          }),
        signal,
      )
    } finally {
      if (!stale.tells('UDP')) await this.#passUdpConnects('of everybody')
      else if (!stale.tellsPods) await this.#passUdpConnects('of pods')
    }
  }

  /** Tables and programs stay: restarting the proxy must not disturb traffic. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turns.run(async () => this.#letGo())
  }

  /**
   * What was made ahead, unless others were there first. It is pinned at once, as any other: who comes now must find it, and
   * with it whose it is. What has too little room grows afterwards: where there is no memory for more, this much is used.
   */
  async #openTables(bpf: Bpf, others: OtherLayouts): Promise<SocketTables> {
    const prepared = this.#prepared
    if (prepared !== undefined && !(await this.#isAnythingPinned())) {
      try {
        await prepared.pinNew(bpf)
        this.#prepared = undefined
        return prepared
      } catch (error) {
        this.#forgetPrepared()
        throw error
      }
    }
    this.#forgetPrepared()
    return SocketTables.open(bpf, this.#place, others)
  }

  /** Undefined as soon as somebody else writes them. */
  get #ownTables(): SocketTables | undefined {
    return this.#tables !== undefined && this.#owner.isOwnerOf(this.#tables.maps) ? this.#tables : undefined
  }

  /** Undefined where what others do there is nothing to repair, or not known. */
  get #watchedTables(): SocketTables | undefined {
    return this.#isAside || this.#arena === undefined ? undefined : this.#ownTables
  }

  #forgetPrepared(): void {
    if (this.#prepared === undefined) return
    this.#links.forgetPrograms()
    this.#prepared[Symbol.dispose]()
    this.#prepared = undefined
  }

  async #isAnythingPinned(): Promise<boolean> {
    const { bpf, pins } = this.#options
    return (await pinsOfLayouts(bpf, pins)).length > 0
  }

  #letGo(): void {
    this.#forgetPrepared()
    this.#links[Symbol.dispose]()
    this.#stale?.[Symbol.dispose]()
    this.#tables?.[Symbol.dispose]()
    this.#tables = this.#arena = this.#others = undefined
    this.#beside.clear()
  }

  /**
   * The programs are of both families at once: those of another layout serve until both are in the tables. They are not
   * waited for twice: what one of them lacks must not keep the other from being served as it is now.
   */
  #waitsForOther(family: Family, others: OtherLayouts): boolean {
    if (!others.areThere || this.#known(otherFamily(family)) !== 'unknown' || this.#beside.has(family)) return false
    this.#beside.add(family)
    return true
  }

  /** By every family that this process serves. */
  get #areAllWritten(): boolean {
    return this.#options.families.every((family) => this.#plans.has(family))
  }

  /** None while a family cannot write, but the one that does it now: nobody would tell the programs what has become of its endpoints. */
  #leaseSteps({ maps }: SocketTables, writing?: Family): readonly Step[] {
    const areUpToDate = [...this.#failing].every((family) => family === writing)
    return areUpToDate ? this.#owner.leaseSteps(maps) : []
  }

  /** Whatever fails, nobody knows what of it was done. */
  #inTurn<T>(family: Family, work: () => Promise<T>): Promise<T> {
    return this.#turns.run(async () => {
      this.takenOver.throwIfAborted()
      if (this.#isReclaimed) {
        // As a process that starts: it may have put other maps in the place of these.
        this.#letGo()
        this.#plans.clear()
        this.#isBegun = this.#isReclaimed = false
      }
      const plan = this.#plans.get(family)
      this.#plans.delete(family)
      try {
        const result = await work()
        if (result === undefined && plan !== undefined) this.#plans.set(family, plan)
        return result
      } catch (error) {
        this.#arena = undefined
        this.#mayHaveMissedEnds = true
        this.#failing.add(family)
        throw error
      }
    })
  }

  /** `used`: what was in use before. */
  #done(
    { family, routes }: SocketTask,
    edit: SocketEdit,
    { maps, specs }: SocketTables,
    arena: Arena,
    used: Needs,
  ): SocketEdit {
    this.#failing.delete(family)
    retire(arena, edit.retired)
    this.#withoutRoom.note(family, routes, edit.after, used, usageOf(arena, specs).entries)
    this.#plans.set(family, edit.after)
    this.#stale?.noteEnded(edit.retired.ids, maps)
    for (const key of this.#stale === undefined ? [] : routes.keys()) {
      const index = edit.after.routesByKey.get(key)?.held?.index
      if (index !== undefined) this.#stale?.noteChanged(index)
    }
    // Nobody will serve there who could be waited for.
    for (const index of edit.retired.indexes) this.#stale?.noteChanged(index)
    return edit
  }

  /** From what is there to what is wanted. Nothing is written to the tables yet. */
  async #planAll(
    { family, node }: SocketTask,
    { routes, needs }: { readonly routes: ReadonlyMap<RouteKey, SocketRoute>; readonly needs: Needs },
    other: SocketPlan | 'unknown' | 'unserved',
    tables: SocketTables,
    bpf: Bpf,
    steps: SyncSteps,
    signal: AbortSignal,
    rest: 'let it rest' | 'use what rests' = 'let it rest',
  ): Promise<{ readonly edit: SocketEdit; readonly arena: Arena }> {
    // Programs that read some of these maps, and others in the place of the rest, would see halves of what is written now.
    if (tables.hasNewMaps && (await this.#links.areThere(bpf))) await this.#attach(tables, bpf, steps, signal)
    const found = await steps.read(() => tables.read())
    const { clock } = this.#options
    const { before, orphans, arena } = steps.plan(() => adopt(found, { family, routes, other, clock }))
    if (rest === 'use what rests' || needsWhatRests(arena, needs)) await wakeAll(arena, this.#options.bpf)
    const edit = steps.plan(() => editSockets(before, routes, node, arena, orphans), editCounts, 'compare')
    return { edit, arena }
  }

  #known(family: Family): SocketPlan | 'unknown' | 'unserved' {
    if (!this.#options.families.includes(family)) return 'unserved'
    return this.#plans.get(family) ?? 'unknown'
  }

  async #attach(tables: SocketTables, bpf: Bpf, steps: SyncSteps, signal: AbortSignal): Promise<void> {
    const others = (this.#others ??= await this.#findOthers(bpf))
    await steps.apply(async () => {
      await this.#links.ensure(bpf, tables.maps, others, signal)
      for (const counts of tables.replaced('endpoint_stats')) this.#stale?.noteReplaced(counts, tables.maps)
      await tables.pin(bpf)
    })
  }

  async #findOthers(bpf: Bpf): Promise<OtherLayouts> {
    const { pins, owner, log } = this.#options
    const others = await OtherLayouts.find(bpf, pins, this.#place.folder, log)
    if (others.areThere) this.#stale?.noteInherited()
    await others.claim(owner)
    return others
  }

  async #send(tables: SocketTables, list: readonly Step[], steps: SyncSteps, signal: AbortSignal): Promise<void> {
    if (list.length === 0) return
    await steps.apply(() => steps.commit(() => tables.send(list, signal), { command: 'bpf', operations: list.length }))
  }

  /** Nobody could tell them later. */
  async #passUdpConnects(which: 'of everybody' | 'of pods'): Promise<void> {
    this.#owner.passUdpConnects(which)
    await this.#turns.run(async () => {
      const tables = this.#ownTables
      await tables?.send(this.#owner.configSteps(tables.maps), new AbortController().signal)
    })
  }

  /** What is there becomes what is right, also for the other family: it must look for itself. */
  async #noteSuspect(family: Family, tables: SocketTables): Promise<void> {
    const other = otherFamily(family)
    const different = this.#plans.has(other) ? await tables.findDifference() : undefined
    if (different !== undefined) this.#damage.suspect(other, different)
  }
}

const nothingToSee = { done: true, value: undefined } as const

const staleEveryMs = 1_000

function editCounts({ steps, after }: SocketEdit) {
  return { routes: after.routesByKey.size, operations: steps.length, frontends: after.frontendsById.size }
}
