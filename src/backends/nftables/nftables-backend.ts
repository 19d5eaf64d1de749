/** Programs one IP family with nftables: one table, flat maps, and transactions that hold what changed. */
import type { Backend, Change, Comparison, NodeView, RenderedPart, SyncReport } from '../../core/backend.ts'
import type { Clock } from '../../core/clock.ts'
import { findRefused, writeAllButRefused } from '../../core/sync/find-refused.ts'
import type { Inspection, PlannedPiece } from '../../core/inspection.ts'
import { countsIfReadable } from '../../core/kept-traffic.ts'
import type { Logger } from '../../core/logger.ts'
import { Programming } from '../../core/sync/programming.ts'
import type { Knowledge, Programmed, SyncTask } from '../../core/sync/programming.ts'
import type { Route, RouteKey } from '../../core/route.ts'
import { isSameData } from '../../core/same-data.ts'
import type { Span, SpanAttributes } from '../../core/trace.ts'
import type { RouteTraffic } from '../../core/traffic.ts'
import { NftError } from '../../dataplane/nft/nft.ts'
import type { FoundElement, NftErrorReason, NftTable, NftTransaction } from '../../dataplane/nft/nft.ts'
import { tracedNft } from '../../dataplane/nft/traced-nft.ts'
import type { Family } from '../../net/ip.ts'
import { containersOf } from './containers.ts'
import type { ContainerName, Containers } from './containers.ts'
import { watchDrift } from './drift-watch.ts'
import { editNftables } from './edit.ts'
import type { NftablesEdit } from './edit.ts'
import type { ElementOwners } from './element-owners.ts'
import { findTableDrift } from './find-drift.ts'
import { inspectRoute } from './inspect.ts'
import { allPieces, routePieces } from './pieces.ts'
import { planNftables } from './plan.ts'
import type { NftablesPlan } from './plan.ts'
import { renderPlan } from './render.ts'
import type { NftablesState } from './settings.ts'
import { TrafficCounts } from './traffic-counts.ts'
import { deleteUnusedChains } from './unused-chains.ts'
import { repairTable, replacement, tableComment } from './whole-table.ts'
import type { FoundTable } from './whole-table.ts'

interface NftablesMetrics {
  syncFailed(): void
  cleanupFailed(): void
}

export interface NftablesBackendOptions {
  readonly family: Family
  readonly table: NftTable
  /** Settings and addresses as of now. */
  readonly state: () => NftablesState
  /** Somebody wants to know how many connections each of this many routes, or routes and endpoints, gets. */
  readonly countsConnections: (things: number) => boolean
  readonly metrics: NftablesMetrics
  readonly clock: Clock
  readonly log: Logger
}

type Failures = SyncReport['failed']

export class NftablesBackend implements Backend {
  readonly name = 'nftables'
  readonly #options: NftablesBackendOptions
  readonly #containers: Containers
  readonly #counts: TrafficCounts
  readonly #programming: Programming<SyncTask, NftablesPlan>
  /** Of what was committed last: says whose element is which, also while another sync runs. */
  #owners: ElementOwners | undefined
  /** Of the table that is there, or of the one that was made. */
  #countsEndpoints: boolean | undefined

  constructor(options: NftablesBackendOptions) {
    this.#options = options
    this.#containers = containersOf(options)
    this.#counts = new TrafficCounts({
      table: options.table,
      containers: this.#containers,
      countsEndpoints: () => this.#countsEndpoints === true,
    })
    this.#programming = new Programming<SyncTask, NftablesPlan>({
      edit: ({ plan }, task, signal) => this.#edit(plan, task, signal),
      rewrite: async ({ view }, known, signal) => {
        const state = await this.#firstState(view, signal)
        return (
          (known.kind === 'unknown' && (await this.#leaveAll(view, state, signal))) ||
          this.#rewrite(view, state, isWrittenWith(state, known) ? 'same rules' : 'other rules', signal)
        )
      },
      isRefusal,
      onRefusedEdit: (error) => options.log.warn('a change was refused; comparing the whole table', { error }),
    })
  }

  async sync(view: NodeView, change: Change, signal: AbortSignal, span?: Span): Promise<SyncReport> {
    try {
      const report = await this.#programming.sync({ view, change }, signal, span)
      this.#counts.forget(change.keys, view)
      return report
    } catch (error) {
      if (!signal.aborted) this.#options.metrics.syncFailed()
      throw error
    }
  }

  watch(onDrift: (found: string) => void, signal: AbortSignal): Promise<void> {
    return watchDrift(this.#options, onDrift, signal)
  }

  traffic(signal: AbortSignal): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    return this.#counts.read(() => this.#owners ?? new Map(), signal)
  }

  pieces(key: RouteKey): Promise<readonly PlannedPiece[] | undefined> {
    return this.#programming.withWritten((plan) => {
      const pieces = routePieces(plan, key)
      return pieces && allPieces(pieces)
    })
  }

  inspect(key: RouteKey, signal: AbortSignal): Promise<Inspection | undefined> {
    return this.#programming.look((plan) => {
      const pieces = routePieces(plan, key)
      return pieces && inspectRoute(pieces, this.#options.table, signal)
    })
  }

  compare(signal: AbortSignal): Promise<Comparison> {
    const { table } = this.#options
    return this.#programming.compare((plan) => findTableDrift(plan, table, signal))
  }

  rendered(): Promise<readonly RenderedPart[] | undefined> {
    return this.#programming.withWritten((plan) => [{ part: 'nftables', text: renderPlan(plan) }])
  }

  /** The table stays: restarting the proxy must not disturb traffic. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#options.table[Symbol.asyncDispose]()
  }

  async #edit(
    plan: NftablesPlan,
    { view, change }: SyncTask,
    signal: AbortSignal,
  ): Promise<Programmed<NftablesPlan> | undefined> {
    const { settings, nodePortIps } = this.#state()
    if (change.full || !isSameData(plan.settings, settings)) return undefined
    const routes = new Map(change.keys.map((key) => [key, view.routesByKey.get(key)]))
    const node = { nodePortIps, serviceCidrs: view.serviceCidrs }
    const edit = this.#programming.steps.plan(() => editNftables(plan, routes, node), editCounts)
    return this.#commit(edit, [], signal)
  }

  #rewrite(
    view: NodeView,
    state: NftablesState,
    rules: 'same rules' | 'other rules',
    signal: AbortSignal,
  ): Promise<Programmed<NftablesPlan>> {
    const { table, log } = this.#options
    const keys = [...view.routesByKey.keys()]
    const tryRoutes = async (suspects: readonly RouteKey[]) => {
      try {
        await table.check(replacement(planNftables(withRoutes(view, suspects), state)), signal)
        return undefined
      } catch (error) {
        if (isRefusal(error)) return error
        throw error
      }
    }
    return writeAllButRefused({
      write: (refused) => {
        const culprits = new Set<RouteKey>(refused.map(({ key }) => key))
        const rest = keys.filter((key) => !culprits.has(key))
        const plan = this.#plan(withRoutes(view, rest), state)
        return this.#repair(plan, rules, refused, signal)
      },
      isRefusal,
      findRefused: (error) => {
        log.warn('the whole table was refused; looking for the Service that causes it', { error })
        return findRefused(keys, tryRoutes)
      },
      // The fault is not in what we want, so it is in what is there.
      withoutCulprit: () => {
        log.warn('replacing the whole table')
        return this.#replace(this.#plan(view, state), [], signal)
      },
    })
  }

  /** A process that comes after another one finds everything as it should be, and touches nothing. Undefined: it is not so. */
  async #leaveAll(
    view: NodeView,
    state: NftablesState,
    signal: AbortSignal,
  ): Promise<Programmed<NftablesPlan> | undefined> {
    const plan = planNftables(view, state)
    const drift = await findTableDrift(plan, this.#options.table, signal)
    return drift === undefined ? this.#commit({ transactions: [], after: plan }, [], signal) : undefined
  }

  #state(): NftablesState {
    const { settings, nodePortIps } = this.#options.state()
    return { settings: { ...settings, countsEndpoints: this.#countsEndpoints === true }, nodePortIps }
  }

  /** A table stays what it is: another kind would be a new one, and clients with affinity would move. */
  async #firstState({ routesByKey }: NodeView, signal: AbortSignal): Promise<NftablesState> {
    if (this.#countsEndpoints === undefined) {
      const { table, countsConnections } = this.#options
      const comment = (await table.list(signal))?.comment
      const kind = [true, false].find((countsEndpoints) => comment === tableComment({ countsEndpoints }))
      this.#countsEndpoints = kind ?? countsConnections(thingsIn(routesByKey))
    }
    return this.#state()
  }

  async #repair(
    plan: NftablesPlan,
    rules: 'same rules' | 'other rules',
    failed: Failures,
    signal: AbortSignal,
  ): Promise<Programmed<NftablesPlan>> {
    const { steps } = this.#programming
    const found = await steps.read((span) => this.#read(plan, span, signal))
    if (found === 'foreign') return this.#replace(plan, failed, signal)
    return this.#commit(
      steps.plan(() => repairTable(plan, found, rules), editCounts, 'compare'),
      failed,
      signal,
    )
  }

  #plan(view: NodeView, state: NftablesState): NftablesPlan {
    return this.#programming.steps.plan(
      () => planNftables(view, state),
      ({ routesByKey }) => ({ routes: routesByKey.size }),
    )
  }

  /** Undefined: there is no table. */
  async #read(
    { settings }: NftablesPlan,
    span: Span,
    signal: AbortSignal,
  ): Promise<FoundTable | 'foreign' | undefined> {
    const listing = await this.#options.table.list(signal)
    if (listing === undefined) return undefined
    if (listing.comment !== tableComment(settings)) return 'foreign'
    const elements = await this.#readElements(signal)
    if (span.isRecorded) {
      const count = [...elements.values()].reduce((sum, { size }) => sum + size, 0)
      span.set({ chains: listing.chains.length, elements: count })
    }
    return { ...listing, elements }
  }

  async #readElements(signal: AbortSignal): Promise<FoundTable['elements']> {
    const found = new Map<ContainerName, ReadonlyMap<string, FoundElement>>()
    for (const [name, container] of Object.entries(this.#containers))
      found.set(name as ContainerName, await this.#options.table.elements(container, signal))
    return found
  }

  #replace(plan: NftablesPlan, failed: Failures, signal: AbortSignal): Promise<Programmed<NftablesPlan>> {
    return this.#commit({ transactions: [replacement(plan)], after: plan }, failed, signal)
  }

  async #commit(
    { transactions, after }: NftablesEdit,
    failed: Failures,
    signal: AbortSignal,
  ): Promise<Programmed<NftablesPlan>> {
    const { metrics, countsConnections, log } = this.#options
    const { steps } = this.#programming
    const table = tracedNft(this.#options.table, steps)
    const counted =
      this.#owners !== undefined && countsConnections(after.routesByKey.size)
        ? await countsIfReadable(this.#counts.countsToKeep(transactions, this.#owners, signal), log, signal)
        : undefined
    const unusedChains = await steps.apply(async () => {
      for (const transaction of transactions) await table.commit(transaction, signal)
      if (counted !== undefined) this.#counts.keep(counted)
      this.#owners = after.owners
      return deleteUnusedChains(table, after.unusedChains, () => metrics.cleanupFailed(), signal)
    })
    return { plan: { ...after, unusedChains }, report: { facts: { elements: countElements(transactions) }, failed } }
  }
}

/** The process before may have had other settings, and so may a sync that failed. */
function isWrittenWith({ settings }: NftablesState, known: Knowledge<NftablesPlan, never>): boolean {
  return known.kind !== 'unknown' && isSameData(known.plan.settings, settings)
}

/** Service ports, and endpoints of them. */
function thingsIn(routesByKey: NodeView['routesByKey']): number {
  let count = routesByKey.size
  for (const { reachableEndpoints } of routesByKey.values()) count += reachableEndpoints.length
  return count
}

function withRoutes(view: NodeView, keys: readonly RouteKey[]): NodeView {
  if (keys.length === view.routesByKey.size) return view
  const routesByKey = new Map<RouteKey, Route>()
  for (const key of keys) {
    const route = view.routesByKey.get(key)
    if (route !== undefined) routesByKey.set(key, route)
  }
  return { ...view, routesByKey }
}

const refusals: ReadonlySet<NftErrorReason> = new Set(['missing', 'exists', 'busy', 'refused'])

function isRefusal(error: unknown): error is NftError {
  return error instanceof NftError && refusals.has(error.reason)
}

function editCounts({ transactions, after }: NftablesEdit): SpanAttributes {
  return {
    routes: after.routesByKey.size,
    transactions: transactions.length,
    operations: transactions.reduce((sum, { length }) => sum + length, 0),
    elements: countElements(transactions),
  }
}

function countElements(transactions: readonly NftTransaction[]): number {
  let count = 0
  for (const transaction of transactions)
    for (const operation of transaction)
      if (operation.do === 'add elements') count += operation.elements.length
      else if (operation.do === 'delete elements') count += operation.keys.length
  return count
}
