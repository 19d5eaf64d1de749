/** Programs one IP family with load balancers of the Host Networking Service of Windows. */
import type { Backend, Change, Comparison, NodeView, RenderedPart, SyncReport } from '../../core/backend.ts'
import type { Clock } from '../../core/clock.ts'
import type { Inspection, PlannedPiece } from '../../core/inspection.ts'
import type { Logger } from '../../core/logger.ts'
import type { RouteKey } from '../../core/route.ts'
import { Programming } from '../../core/sync/programming.ts'
import type { Knowledge, Programmed, SyncTask } from '../../core/sync/programming.ts'
import type { Span, SpanAttributes } from '../../core/trace.ts'
import type { Hcn } from '../../dataplane/hcn/hcn.ts'
import { tracedHcn } from '../../dataplane/hcn/traced-hcn.ts'
import type { OwnedObjects } from '../../dataplane/owned-objects/owned-objects.ts'
import { nextTurn } from '../../dataplane/next-turn.ts'
import { BalancerReader } from './balancer-reader.ts'
import { commit } from './commit.ts'
import { ChangedByOthers } from './committed.ts'
import type { Abilities, Readers } from './committed.ts'
import { findHnsDrift, watchHns } from './drift-watch.ts'
import { editRoutes, isNothingToDo, rewriteAll } from './edit.ts'
import type { KernelspaceEdit } from './edit.ts'
import { EndpointReader } from './endpoint-reader.ts'
import { differencesOf, endpointTable } from './endpoint-table.ts'
import type { TableChange } from './endpoint-table.ts'
import { forgetLost } from './forget-lost.ts'
import { nothingLeft } from './held.ts'
import type { Written } from './held.ts'
import { heldAsFound } from './held-as-found.ts'
import { inspectRoute } from './inspect.ts'
import { releaseMisplaced } from './misplaced-endpoints.ts'
import { networkOf } from './network.ts'
import type { Network } from './network.ts'
import { removeOldSourceVips } from './old-source-vips.ts'
import { allPieces, routePieces } from './pieces.ts'
import { planKernelspace } from './plan.ts'
import { renderPlan } from './render.ts'
import { isOverlay } from './settings.ts'
import type { KernelspaceSettings } from './settings.ts'
import { tearDown } from './tear-down.ts'
import { ToldLimits } from './told-limits.ts'

export interface KernelspaceBackendOptions {
  /** The backends of both families share one. */
  readonly hcn: Hcn
  readonly owned: OwnedObjects
  readonly settings: KernelspaceSettings
  readonly clock: Clock
  readonly log: Logger
}

type Known = Knowledge<Written, never>

export class KernelspaceBackend implements Backend {
  readonly name = 'kernelspace'
  readonly #options: KernelspaceBackendOptions
  readonly #readers: Readers
  readonly #limits: ToldLimits
  readonly #programming: Programming<SyncTask, Written>
  /** What HNS turned out to be able to do; it stays true after a failed sync. */
  readonly #abilities: Abilities

  constructor(options: KernelspaceBackendOptions) {
    const { hcn, settings, log } = options
    this.#options = options
    this.#readers = { endpoints: new EndpointReader(hcn), balancers: new BalancerReader(hcn) }
    this.#limits = new ToldLimits(log)
    this.#abilities = { canModify: settings.features.modifyLoadBalancer, isToldOfUnmade: false }
    this.#programming = new Programming<SyncTask, Written>({
      edit: ({ plan }, task, signal) => this.#edit(plan, task, signal),
      rewrite: (task, known, signal) => this.#rewrite(task, known, signal),
      isRefusal: (error) => error instanceof ChangedByOthers,
      onRefusedEdit: (error) => log.warn('somebody else changed HNS; reading it again', { error }),
    })
  }

  sync(view: NodeView, change: Change, signal: AbortSignal, span?: Span): Promise<SyncReport> {
    return this.#programming.sync({ view, change }, signal, span)
  }

  watch(onDrift: (found: string) => void, signal: AbortSignal): Promise<void> {
    const { hcn, owned, clock, log } = this.#options
    const findRoot = () => this.#root(signal)
    return watchHns({ hcn, owned, findRoot, readers: this.#readers, clock, log }, this.#programming, onDrift, signal)
  }

  pieces(key: RouteKey): Promise<readonly PlannedPiece[] | undefined> {
    return this.#programming.withWritten((written) => {
      const pieces = routePieces(written.plan, key, written)
      return pieces && allPieces(pieces)
    })
  }

  inspect(key: RouteKey, signal: AbortSignal): Promise<Inspection | undefined> {
    return this.#programming.withWritten((written) => {
      const pieces = routePieces(written.plan, key, written)
      return pieces && inspectRoute(pieces, written, this.#options.hcn, signal)
    })
  }

  compare(signal: AbortSignal): Promise<Comparison> {
    const { hcn, owned } = this.#options
    const door = { hcn, owned, findRoot: () => this.#root(signal), readers: this.#readers }
    return this.#programming.compare((written) => findHnsDrift(written, door, signal))
  }

  rendered(): Promise<readonly RenderedPart[] | undefined> {
    return this.#programming.withWritten(({ plan }) => renderPlan(plan))
  }

  /** What HNS holds stays: restarting the proxy must not disturb traffic. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve()
  }

  async #edit(
    before: Written,
    { view, change }: SyncTask,
    signal: AbortSignal,
  ): Promise<Programmed<Written> | undefined> {
    if (change.full) return undefined
    if (isNothingToDo(before, view, change.keys)) return { plan: before, report: { facts: {}, failed: [] } }
    const { settings } = this.#options
    const { steps } = this.#programming
    const { added, ids } = await steps.read(() =>
      this.#readers.endpoints.list(before.network.id, before.table.byId, signal),
    )
    const endpoints: TableChange = { added, removed: differencesOf(before.table, ids).gone }
    // The endpoints of a network that was deleted are gone with it.
    if (endpoints.removed.length > 0) await this.#checkNetwork(before.network, signal)
    const edit = steps.plan(() => editRoutes(before, view, change.keys, endpoints), editCounts)
    if (isOverlay(settings) && edit.newEndpoints.length > 0) {
      const network = await this.#checkNetwork(before.network, signal)
      // Nodes came or went. That concerns every load balancer.
      if (network.subnets !== before.network.subnets) return undefined
    }
    // The load balancers of health checks name it, all over the plan.
    if (endpoints.removed.some(({ id }) => id === before.root?.id)) return undefined
    const wantsRoot = change.keys.some((key) => edit.after.plan.routesByKey.get(key)?.balancers.some(isHealthCheck))
    if (wantsRoot && before.root === undefined && (await this.#root(signal)) !== undefined) return undefined
    return this.#commit(edit, signal)
  }

  async #rewrite({ view, change }: SyncTask, known: Known, signal: AbortSignal): Promise<Programmed<Written>> {
    const { owned, settings, log } = this.#options
    const { steps } = this.#programming
    const hcn = tracedHcn(this.#options.hcn, steps)
    const before = known.kind === 'unknown' ? undefined : known.plan
    const { name } = settings.network
    const found = await hcn.networkNamed(name, signal)
    if (found === undefined || (before !== undefined && before.network.id !== found.id))
      throw await steps.apply(
        () => tearDown({ hcn, owned, readers: this.#readers, settings, log }, before, found, signal),
        'tearDown',
      )
    const keys = change.full ? change.keys : [...view.routesByKey.keys()]
    const plan = steps.plan(
      () => planKernelspace(view, settings, keys),
      () => ({ routes: keys.length }),
    )
    await nextTurn()
    const { around, balancers } = await steps.read(async (span) => {
      const nothing = { has: () => false }
      const { added } = await this.#readers.endpoints.list(found.id, nothing, signal)
      const readAround = { network: networkOf(found), table: endpointTable(added), root: await this.#root(signal) }
      await nextTurn()
      const all = await this.#readers.balancers.readAll(signal)
      span.set({ endpoints: added.length, balancers: all.length })
      return { around: readAround, balancers: all }
    })
    await nextTurn()
    const { held, left } = heldAsFound(balancers, {
      family: settings.family,
      owned,
      isClaimed: (frontend) => plan.claimsByFrontend.has(frontend),
      left: (before?.left ?? nothingLeft).balancers,
    })
    const written = {
      ...around,
      plan,
      held,
      left: { ...nothingLeft, balancers: left },
      failedKeys: new Set<never>(),
    }
    const released = await releaseMisplaced(written, { hcn, owned, log }, signal)
    const edit = steps.plan(() => rewriteAll(released, keys), editCounts, 'compare')
    const { plan: committed, report } = await this.#commit(edit, signal)
    const after = await removeOldSourceVips(committed, { hcn, owned, log }, signal)
    await forgetLost(after, { hcn, owned }, signal)
    return { plan: after, report }
  }

  async #commit(edit: KernelspaceEdit, signal: AbortSignal): Promise<Programmed<Written>> {
    const { owned, log } = this.#options
    const { steps } = this.#programming
    this.#limits.tell(edit)
    const hcn = tracedHcn(this.#options.hcn, steps)
    const context = { hcn, owned, readers: this.#readers, abilities: this.#abilities, log }
    const done = await steps.apply(() => commit(edit, context, signal))
    const { balancers, endpoints } = done.left
    const facts = { ...done.counts, left: balancers.size + endpoints.size }
    return { plan: done.written(), report: { facts, failed: done.failed() } }
  }

  async #checkNetwork({ id }: Network, signal: AbortSignal): Promise<Network> {
    const { name } = this.#options.settings.network
    const found = await this.#options.hcn.networkNamed(name, signal)
    if (found?.id !== id) throw new ChangedByOthers(`the HNS network ${name} is gone, or another one`)
    return networkOf(found)
  }

  async #root(signal: AbortSignal): Promise<Written['root']> {
    const { hcn, settings } = this.#options
    return settings.forwardHealthCheckVip ? hcn.endpointNamed(settings.rootEndpointName, signal) : undefined
  }
}

function editCounts({ newEndpoints, writes, rebuilt, freed, retries }: KernelspaceEdit): SpanAttributes {
  return {
    'endpoints.new': newEndpoints.length,
    'balancers.written': writes.length,
    'balancers.rebuilt': rebuilt.length,
    'balancers.freed': freed.length,
    'balancers.retried': retries.length,
  }
}

function isHealthCheck({ kind }: { readonly kind: string }): boolean {
  return kind === 'health-check'
}
