/**
 * Programs one IP family at the sockets of this node, and leaves the rest to a backend for packets. The sockets come first:
 * who connects here gets an endpoint that has ended no more, whatever the packets still take.
 */
import type { Backend, Change, Comparison, NodeView, RenderedPart, SyncReport } from '../../core/backend.ts'
import type { Clock } from '../../core/clock.ts'
import { bothInspections } from '../../core/inspection.ts'
import type { Inspection, PlannedPiece } from '../../core/inspection.ts'
import type { Logger } from '../../core/logger.ts'
import type { RouteKey } from '../../core/route.ts'
import { Programming } from '../../core/sync/programming.ts'
import type { Programmed, SyncTask } from '../../core/sync/programming.ts'
import { noSuspicion, watchForDrift } from '../../core/sync/watch-for-drift.ts'
import type { Watched } from '../../core/sync/watch-for-drift.ts'
import { addTraffic } from '../../core/traffic.ts'
import type { RouteTraffic } from '../../core/traffic.ts'
import type { Span } from '../../core/trace.ts'
import { BpfError } from '../../dataplane/ebpf/bpf-error.ts'
import type { Family } from '../../net/ip.ts'
import type { SocketEdit } from './edit.ts'
import type { SocketMaps } from './found-tables.ts'
import { inspectSockets } from './inspect.ts'
import { socketPieces } from './pieces.ts'
import { planRoutes } from './plan.ts'
import type { SocketPlan } from './plan.ts'
import { renderSockets } from './render.ts'
import type { NodeState } from './settings.ts'
import type { SocketBalancer } from './socket-balancer.ts'
import { SocketChoices } from './socket-choices.ts'
import type { ChoiceResult } from './socket-choices.ts'
import { TrafficCounts } from './traffic-counts.ts'

export interface EbpfBackendOptions {
  readonly family: Family
  /** The backends of both families share one. */
  readonly balancer: SocketBalancer
  /** For clients elsewhere, and for all that sockets cannot do. */
  readonly packets: Backend
  /** The addresses of the moment. */
  readonly node: () => NodeState
  readonly clock: Clock
  readonly log: Logger
  /** The sockets were programmed, or could not be, and the packets come next. */
  readonly onSocketsSynced?: (tookMs: number) => void
}

/** It stays while a sync runs, and when one fails: the programs count on, and nobody may see a counter go back. */
interface Written {
  readonly plan: SocketPlan
  /** It follows the routes: while a sync runs, or when one has failed, it is newer than the plan. */
  readonly view: NodeView
  /** Where its places are. */
  readonly maps: SocketMaps
}

/** An entry that was changed is to be noticed within five seconds, by both families: one compares, the other hears of it. */
const mostPauseMs = 3_000

export class EbpfBackend implements Backend {
  readonly name = 'ebpf'
  readonly trafficEveryMs: number
  readonly #options: EbpfBackendOptions
  readonly #programming: Programming<SyncTask, SocketPlan>
  readonly #counts = new TrafficCounts()
  readonly #choices = new SocketChoices()
  #toldWithoutRoom = false
  #lastWritten: Written | undefined

  constructor(options: EbpfBackendOptions) {
    this.#options = options
    this.trafficEveryMs = options.packets.trafficEveryMs ?? 0
    this.#programming = new Programming<SyncTask, SocketPlan>({
      edit: ({ plan }, task, signal) => this.#edit(plan, task, signal),
      rewrite: (task, _known, signal) => this.#rewrite(task, signal),
      isRefusal: (error) => error instanceof BpfError && error.reason === 'full',
      onRefusedEdit: (error) => options.log.warn('the tables of the sockets are full; reading them again', { error }),
    })
  }

  /** Clients elsewhere do not wait for sockets that cannot be programmed. The sync has failed all the same. */
  async sync(view: NodeView, change: Change, signal: AbortSignal, span?: Span): Promise<SyncReport> {
    const { packets, balancer, clock, onSocketsSynced } = this.#options
    const began = clock.monotonic()
    const programming = this.#programming.sync({ view, change }, signal, span)
    await Promise.allSettled([programming])
    onSocketsSynced?.(clock.monotonic() - began)
    if (signal.aborted || balancer.takenOver.aborted) await programming
    const packetReport = await packets.sync(view, change, signal, span)
    const socketReport = await programming
    this.#counts.forget(change.keys, view)
    await this.#endStale(signal)
    return {
      facts: { ...socketReport.facts, ...packetReport.facts },
      failed: [...socketReport.failed, ...packetReport.failed],
    }
  }

  stepAside(): void {
    this.#options.balancer.stepAside()
    this.#options.packets.stepAside?.()
  }

  reclaim(): void {
    this.#options.balancer.reclaim()
    this.#options.packets.reclaim?.()
  }

  /** Rejects with a TakenOverError when another process writes the tables. */
  async watch(onDrift: (found: string) => void, signal: AbortSignal): Promise<void> {
    const { packets, balancer, clock, log } = this.#options
    const until = AbortSignal.any([signal, balancer.takenOver])
    const sockets = watchForDrift(
      { parts: [this.#watched()], lost: 'the last sync failed', onFound: onDrift, clock, log },
      this.#programming,
      until,
    )
    await Promise.all([sockets, packets.watch?.(onDrift, until)])
    if (!signal.aborted) balancer.takenOver.throwIfAborted()
  }

  async traffic(signal: AbortSignal, keys?: ReadonlySet<RouteKey>): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    const sum = new Map(await this.#options.packets.traffic?.(signal, keys))
    if (this.#lastWritten === undefined) return sum
    const { plan, view } = this.#lastWritten
    for (const [key, traffic] of await this.#counts.read(plan, view, this.#readableMaps, keys))
      sum.set(key, addTraffic(sum.get(key), traffic))
    return sum
  }

  /** What the programs did so far. Undefined: nothing was written yet. */
  get choices(): Readonly<Record<ChoiceResult, number>> | undefined {
    return this.#lastWritten && this.#choices.read(this.#lastWritten.plan, this.#readableMaps)
  }

  /** Clients of this node are connected at their sockets: whoever looks at packets sees only some connections. */
  isServedAtSockets(key: RouteKey): boolean {
    const placed = this.#lastWritten?.plan.routesByKey.get(key)
    return placed?.held !== undefined && placed.route.frontends.some(({ isOnLoopbackOnly }) => !isOnLoopbackOnly)
  }

  async pieces(key: RouteKey): Promise<readonly PlannedPiece[] | undefined> {
    const sockets = await this.#programming.withWritten(({ routesByKey }) => {
      const placed = routesByKey.get(key)
      return placed && { pieces: placed.held === undefined ? [] : socketPieces(placed.route) }
    })
    const packets = await this.#options.packets.pieces?.(key)
    return sockets === undefined || packets === undefined ? undefined : [...sockets.pieces, ...packets]
  }

  async inspect(key: RouteKey, signal: AbortSignal): Promise<Inspection | undefined> {
    const { packets, balancer } = this.#options
    const sockets = await this.#programming.withWritten(({ routesByKey }) => {
      const [placed, maps] = [routesByKey.get(key), balancer.tables?.maps]
      return placed && maps && inspectSockets(placed, maps, signal)
    })
    const rest = await packets.inspect?.(key, signal)
    return sockets && rest && bothInspections(sockets, rest)
  }

  async compare(signal: AbortSignal): Promise<Comparison> {
    const { packets } = this.#options
    const sockets = await this.#programming.compare(() => this.#findDrift())
    if (sockets.kind !== 'as written') return sockets
    return (await packets.compare?.(signal)) ?? sockets
  }

  async rendered(): Promise<readonly RenderedPart[] | undefined> {
    const sockets = await this.#programming.withWritten(({ routesByKey }) =>
      renderSockets(routesByKey.values().map(({ route }) => route)),
    )
    const packets = await this.#options.packets.rendered?.()
    return sockets === undefined || packets === undefined ? undefined : [...packets, { part: 'sockets', text: sockets }]
  }

  /** The balancer is closed by whoever lent it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#options.packets[Symbol.asyncDispose]()
  }

  /** Undefined: the places of the plan say nothing of the maps that are there now. */
  get #readableMaps(): SocketMaps | undefined {
    const maps = this.#options.balancer.tables?.maps
    return maps === this.#lastWritten?.maps ? maps : undefined
  }

  async #edit(
    before: SocketPlan,
    { view, change }: SyncTask,
    signal: AbortSignal,
  ): Promise<Programmed<SocketPlan> | undefined> {
    if (change.full) return undefined
    const { family, balancer, node: nodeNow } = this.#options
    const node = nodeNow()
    const keys = new Set(change.keys)
    for (const key of keysAt(movedIps(before.node, node), view)) keys.add(key)
    const task = { family, routes: planRoutes(view, keys, node), node }
    const edit = await balancer.edit(task, before, this.#programming.steps, signal)
    return edit && this.#programmed(edit, view)
  }

  async #rewrite({ view }: SyncTask, signal: AbortSignal): Promise<Programmed<SocketPlan>> {
    const { family, balancer, node: nodeNow } = this.#options
    const node = nodeNow()
    const task = { family, routes: planRoutes(view, view.routesByKey.keys(), node), node }
    return this.#programmed(await balancer.rewrite(task, this.#programming.steps, signal), view)
  }

  /** A route that the tables have no room for has not failed: the packets serve it. */
  #programmed({ steps, after }: SocketEdit, view: NodeView): Programmed<SocketPlan> {
    const { balancer, log } = this.#options
    const maps = balancer.tables?.maps
    if (maps !== undefined) this.#lastWritten = { plan: after, view, maps }
    const { size } = after.withoutRoom
    if (size > 0 && !this.#toldWithoutRoom)
      log.warn('the tables of the sockets are full: some Service ports are left to the packets', { size })
    this.#toldWithoutRoom = size > 0
    return { plan: after, report: { facts: { stores: steps.length }, failed: [] } }
  }

  #watched(): Watched<SocketPlan, string> {
    const { balancer, family } = this.#options
    return {
      isExact: false,
      mostPauseMs,
      suspect: async (plan, signal) => {
        balancer.noteOwner()
        await balancer.renewLease()
        await this.#endStale(signal)
        const finding =
          balancer.suspicionOf(family) ?? (await balancer.findDetached()) ?? this.#findMovedClusterIp(plan)
        return finding === undefined ? noSuspicion : { kind: 'certain', finding }
      },
      compare: (_, signal) => balancer.lookForDifference(family, mostPauseMs, signal),
    }
  }

  /**
   * A program of the node that begins to listen at a cluster IP, as a cache of DNS answers does, is to be reached at once. No
   * object of the cluster changes then, so no sync would come.
   */
  #findMovedClusterIp({ node: before }: SocketPlan): string | undefined {
    const now = this.#options.node()
    const view = this.#lastWritten?.view
    const moved = movedIps(before, now)
    const key = view && keysAt(moved, view)[0]
    const clusterIP = key && view.routesByKey.get(key)?.clusterIP
    if (clusterIP === undefined) return undefined
    return `the cluster IP ${clusterIP} is ${now.ownIps.has(clusterIP) ? 'an address of this node now' : 'no address of this node any more'}`
  }

  /** What fails is tried again; a sync has not failed because of it. */
  async #endStale(signal: AbortSignal): Promise<void> {
    const { balancer, log } = this.#options
    try {
      await balancer.endStale(signal)
    } catch (error) {
      if (!signal.aborted) log.warn('cannot look for sockets whose endpoint has ended', { error })
    }
  }

  async #findDrift(): Promise<string | undefined> {
    const { balancer, family } = this.#options
    return (await balancer.findDetached()) ?? balancer.findDifference(family)
  }
}

const noIps: ReadonlySet<string> = new Set()

/** Addresses that this node has got, or has no more. */
function movedIps({ ownIps: before }: NodeState, { ownIps: after }: NodeState): ReadonlySet<string> {
  if (before === after) return noIps
  return new Set([...[...before].filter((ip) => !after.has(ip)), ...[...after].filter((ip) => !before.has(ip))])
}

/** Cluster IPs that are the node's own are left to the packets. It seldom changes which they are, so all routes are asked. */
function keysAt(ips: ReadonlySet<string>, { routesByKey }: NodeView): readonly RouteKey[] {
  if (ips.size === 0) return []
  return [...routesByKey].flatMap(([key, { clusterIP }]) => (ips.has(clusterIP) ? [key] : []))
}
