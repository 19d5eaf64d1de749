/** Programs one IP family with nftables: one table, flat maps, and transactions that hold what changed. */
import type { Backend, Change, NodeView, SyncReport } from '../../core/backend.ts'
import type { Clock } from '../../core/clock.ts'
import { findRefused, writeAllButRefused } from '../../core/sync/find-refused.ts'
import type { Logger } from '../../core/logger.ts'
import { Programming } from '../../core/sync/programming.ts'
import type { Programmed, SyncTask } from '../../core/sync/programming.ts'
import type { RouteKey } from '../../core/route.ts'
import { isSameData } from '../../core/same-data.ts'
import { NftError } from '../../dataplane/nft/nft.ts'
import type { FoundElement, NftErrorReason, NftOperation, NftTable, NftTransaction } from '../../dataplane/nft/nft.ts'
import type { Family } from '../../net/ip.ts'
import { ConnectionCounts } from './connection-counts.ts'
import { containersOf } from './containers.ts'
import type { ContainerName, Containers } from './containers.ts'
import { watchDrift } from './drift-watch.ts'
import { editTable } from './edit-table.ts'
import type { NftablesState } from './settings.ts'
import { transactionsFor } from './steps.ts'
import type { Steps } from './steps.ts'
import type { TablePlan } from './table-plan.ts'
import { UnusedChains } from './unused-chains.ts'
import { elementRepairs, planTable, replacement, stepsFor, strangersIn, tableComment } from './whole-table.ts'
import type { WholeTable } from './whole-table.ts'

interface NftablesMetrics {
  syncFailed(): void
  cleanupFailed(): void
}

export interface NftablesBackendOptions {
  readonly family: Family
  readonly table: NftTable
  /** Settings and addresses as of now. */
  readonly state: () => NftablesState
  /** Somebody wants to know how many connections each of this many routes gets. */
  readonly countsConnections: (routes: number) => boolean
  readonly metrics: NftablesMetrics
  readonly clock: Clock
  readonly log: Logger
}

type Failures = SyncReport['failed']

export class NftablesBackend implements Backend {
  readonly name = 'nftables'
  readonly #options: NftablesBackendOptions
  readonly #containers: Containers
  readonly #unused: UnusedChains
  readonly #counts: ConnectionCounts
  readonly #programming: Programming<SyncTask, TablePlan>
  /** Whose element is which, also while a sync goes on. */
  #lastPlan: TablePlan | undefined

  constructor(options: NftablesBackendOptions) {
    this.#options = options
    this.#containers = containersOf(options.family)
    this.#counts = new ConnectionCounts(options.table, this.#containers)
    this.#unused = new UnusedChains(options.table, () => options.metrics.cleanupFailed())
    this.#programming = new Programming<SyncTask, TablePlan>({
      edit: ({ plan }, task, signal) => this.#edit(plan, task, signal),
      rewrite: ({ view }, _known, signal) => this.#rewrite(view, options.state(), signal),
      isRefusal,
      onRefusedEdit: (error) => options.log.warn('a change was refused; comparing the whole table', { error }),
    })
  }

  async sync(view: NodeView, change: Change, signal: AbortSignal): Promise<SyncReport> {
    try {
      const report = await this.#programming.sync({ view, change }, signal)
      await this.#unused.remove(signal)
      return report
    } catch (error) {
      if (!signal.aborted) this.#options.metrics.syncFailed()
      throw error
    }
  }

  watch(onDrift: (found: string) => void, signal: AbortSignal): Promise<void> {
    return watchDrift(this.#options, onDrift, signal)
  }

  connections(signal: AbortSignal): Promise<ReadonlyMap<RouteKey, number>> {
    return this.#counts.read((element) => this.#lastPlan?.owner(element), signal)
  }

  /** The table stays: restarting the proxy must not disturb traffic. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#options.table[Symbol.asyncDispose]()
  }

  async #edit(
    plan: TablePlan,
    { view, change }: SyncTask,
    signal: AbortSignal,
  ): Promise<Programmed<TablePlan> | undefined> {
    const { settings, nodePortIps } = this.#options.state()
    if (change.full || !isSameData(plan.settings, settings)) return undefined
    const routes = new Map(change.keys.map((key) => [key, view.routesByKey.get(key)]))
    const node = { nodePortIps, serviceCidrs: view.serviceCidrs }
    const { steps, unusedChains, transfers } = editTable(plan, routes, node, this.#containers)
    this.#unused.keep(namesOfChains(steps))
    if (this.#options.countsConnections(view.routesByKey.size))
      await this.#counts.keep(steps.elements, transfers, signal)
    await this.#carryOut(steps, { isFresh: false }, signal)
    this.#unused.add(unusedChains)
    for (const [key, route] of routes) if (route === undefined) this.#counts.forget(key)
    return this.#finish(plan, steps.elements, [])
  }

  #rewrite(view: NodeView, state: NftablesState, signal: AbortSignal): Promise<Programmed<TablePlan>> {
    const { table, log } = this.#options
    const keys = [...view.routesByKey.keys()]
    const isGood = async (suspects: readonly RouteKey[]) => {
      try {
        await table.check(replacement(planTable(view, state, suspects)), signal)
        return undefined
      } catch (error) {
        if (isRefusal(error)) return error
        throw error
      }
    }
    return writeAllButRefused({
      write: (refused) => {
        const culprits = new Set<RouteKey>(refused.map(({ key }) => key))
        const rest = refused.length === 0 ? undefined : keys.filter((key) => !culprits.has(key))
        return this.#repair(planTable(view, state, rest), refused, signal)
      },
      isRefusal,
      findRefused: (error) => {
        log.warn('the whole table was refused; looking for the Service that causes it', { error })
        return findRefused(keys, isGood)
      },
      // The fault is not in what we want, so it is in what is there.
      withoutCulprit: () => {
        log.warn('replacing the whole table')
        return this.#replace(planTable(view, state), [], signal)
      },
    })
  }

  /** Brings the table to the plan, whatever it is now, and writes only the elements that differ. */
  async #repair(whole: WholeTable, failed: Failures, signal: AbortSignal): Promise<Programmed<TablePlan>> {
    const { table } = this.#options
    const listing = await table.list(signal)
    if (listing !== undefined && listing.comment !== tableComment) return this.#replace(whole, failed, signal)
    const isFresh = listing === undefined
    const found = isFresh ? new Map<never, never>() : await this.#readElements(signal)
    const repairs = elementRepairs(whole, found).operations(this.#containers)
    const steps = stepsFor(whole, repairs)
    const { chains, sets } = strangersIn(listing ?? { chains: [], sets: [] }, steps)
    const elements: NftTransaction = [
      ...steps.elements,
      // With the elements that lead to them.
      ...chains.map((name): NftOperation => ({ do: 'flush chain', name })),
      ...sets.map((name): NftOperation => ({ do: 'delete set', set: { name } })),
    ]
    this.#unused.keep(namesOfChains(steps))
    await this.#carryOut({ ...steps, elements }, { isFresh }, signal)
    this.#unused.add(chains)
    return this.#finish(whole.plan, repairs, failed)
  }

  async #readElements(signal: AbortSignal): Promise<ReadonlyMap<ContainerName, ReadonlyMap<string, FoundElement>>> {
    const found = new Map<ContainerName, ReadonlyMap<string, FoundElement>>()
    for (const [name, container] of Object.entries(this.#containers))
      found.set(name as ContainerName, await this.#options.table.elements(container, signal))
    return found
  }

  async #carryOut(steps: Steps, options: { readonly isFresh: boolean }, signal: AbortSignal): Promise<void> {
    for (const transaction of transactionsFor(steps, options)) await this.#options.table.commit(transaction, signal)
  }

  async #replace(whole: WholeTable, failed: Failures, signal: AbortSignal): Promise<Programmed<TablePlan>> {
    const transaction = replacement(whole)
    await this.#options.table.commit(transaction, signal)
    return this.#finish(whole.plan, transaction, failed)
  }

  #finish(plan: TablePlan, written: NftTransaction, failed: Failures): Programmed<TablePlan> {
    this.#lastPlan = plan
    return { plan, report: { facts: { elements: countElements(written) }, failed } }
  }
}

const refusals: ReadonlySet<NftErrorReason> = new Set(['missing', 'exists', 'busy', 'refused'])

function isRefusal(error: unknown): error is NftError {
  return error instanceof NftError && refusals.has(error.reason)
}

function namesOfChains({ structure, sticky }: Steps): readonly string[] {
  return [...structure, ...sticky].flatMap((operation) => (operation.do === 'add chain' ? [operation.chain.name] : []))
}

function countElements(transaction: NftTransaction): number {
  let count = 0
  for (const operation of transaction)
    if (operation.do === 'add elements') count += operation.elements.length
    else if (operation.do === 'delete elements') count += operation.keys.length
  return count
}
