/** Keeps one IP family of the data plane equal to the node's view: one sync at a time, each with its reason. */
import type { Family } from '../../net/ip.ts'
import type { Backend, Change, NodeView, SyncReport } from '../backend.ts'
import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import type { ProxyMetrics } from '../proxy-metrics.ts'
import type { RouteKey } from '../route.ts'
import { within } from '../trace.ts'
import type { Span, Tracer } from '../trace.ts'
import type { PendingSync, RouteSource, SyncRequest } from './route-source.ts'
import { SyncLoop } from './sync-loop.ts'
import type { SyncPeriods, WorkOutcome } from './sync-loop.ts'
import type { TimeToSafety } from './time-to-safety.ts'
import { withUnprogrammed } from './unprogrammed.ts'
import { UnservedRoutes } from './unserved-routes.ts'

/** Runs after a successful sync, in the order given: service health checks, then stale flows. */
export interface AfterSync {
  /** For the trace, and for the log line when it fails; a failure does not make the sync fail. */
  readonly name: string
  /** It only remembers that there was a sync, so it is no part of the trace. */
  readonly isNote?: true
  run(synced: PendingSync, signal: AbortSignal, span?: Span): Promise<void> | void
}

export interface SyncRunnerOptions {
  readonly family: Family
  readonly backend: Pick<Backend, 'name' | 'sync'>
  readonly table: RouteSource
  readonly health: { queuedUpdate(family: Family): void; updated(family: Family): void }
  readonly metrics: Pick<
    ProxyMetrics,
    'syncRequested' | 'syncRan' | 'syncSucceeded' | 'programmed' | 'noLocalEndpoints'
  >
  readonly tracer: Tracer
  readonly clock: Clock
  readonly log: Logger
  /** As of now. */
  readonly periods: () => SyncPeriods
  /** Called when a sync begins, before it takes what it programs: what it is made from stays until the next one. */
  readonly onBegin?: () => void
  readonly afterSync: readonly AfterSync[]
  /** Hears what a sync has to say about a route that is programmed. */
  readonly onNotice?: (key: RouteKey, text: string) => void
  /** Hears which endpoints get no new connections any more. */
  readonly safety?: Pick<TimeToSafety, 'committed'>
}

/** What became of the syncs so far. */
export interface SyncTally {
  readonly count: number
  readonly failures: number
  /** When the last one had ended, on the wall clock, and how long it took. */
  readonly last: { readonly atMs: number; readonly durationMs: number } | undefined
  readonly lastFailure: { readonly atMs: number; readonly message: string } | undefined
  /** The last one failed: it is tried again. */
  readonly isFailing: boolean
}

/** Others change kernel state behind our back; a full sync this often repairs it. */
const fullSyncEveryMs = 60 * 60 * 1000

export class SyncRunner {
  readonly #options: SyncRunnerOptions
  readonly #log: Logger
  readonly #loop: SyncLoop
  /** Monotonic time of the last successful full sync; undefined asks for one. */
  #lastFullAt: number | undefined
  readonly #unserved: UnservedRoutes
  /** Somebody asked for a full sync since the last one began. */
  #isFullRequested = false
  /** Somebody asked for one because of the configuration. */
  #isReconfigured = false
  /** Reasons for the next sync that are not in the table. */
  readonly #ownCauses: string[] = []
  /** What failed syncs took from the table and did not program. */
  #unprogrammed: PendingSync | undefined
  #hasSynced = false
  /** Of the last sync, if it failed. */
  #failure: string | undefined
  /** The table has asked for a sync since the last one began. */
  #isAsked = false
  #tally: SyncTally = { count: 0, failures: 0, last: undefined, lastFailure: undefined, isFailing: false }

  constructor(options: SyncRunnerOptions) {
    this.#options = options
    this.#log = options.log.child({ family: options.family, backend: options.backend.name })
    this.#unserved = new UnservedRoutes(() => options.periods().retryMs)
    this.#loop = new SyncLoop({ ...options, work: (signal) => this.#work(signal) })
  }

  async run(signal: AbortSignal): Promise<void> {
    const { table, health, metrics, clock, family } = this.#options
    const unsubscribe = table.subscribe((request) => this.#onRequest(request))
    try {
      health.updated(family)
      metrics.syncRequested(family, clock.now())
      if (table.isInitialised) this.#loop.request('immediate')
      await this.#loop.run(signal)
    } finally {
      unsubscribe()
    }
  }

  /** Somebody else changed the data plane: program everything, now. */
  requestFull(cause: string): void {
    this.#isFullRequested = true
    this.#requestNow(cause)
  }

  /** The configuration has changed. A backend that makes its rules from other settings finds out itself what differs. */
  requestReconfigured(cause: string): void {
    this.#isReconfigured = true
    this.#requestNow(cause)
  }

  /** What is waited for may be due earlier or later now. */
  periodsChanged(): void {
    this.#loop.periodsChanged()
  }

  get tally(): SyncTally {
    return this.#tally
  }

  /** Routes that the data plane did not take although the sync succeeded, and why. Another map after each change. */
  get failedRoutes(): ReadonlyMap<RouteKey, string> {
    return this.#unserved.reasonsByKey
  }

  /** Why the data plane does not hold what was planned for the route; undefined: it does, as far as is known. */
  whyNotProgrammed(key: RouteKey): string | undefined {
    const isAwaited = this.#failure !== undefined && this.#unprogrammed?.change.keys.includes(key) === true
    return isAwaited ? `the last sync failed and is retried: ${this.#failure}` : this.#unserved.why(key)
  }

  #requestNow(cause: string): void {
    const { table, health, metrics, clock, family } = this.#options
    if (!table.isInitialised) return
    this.#ownCauses.push(cause)
    health.queuedUpdate(family)
    metrics.syncRequested(family, clock.now())
    this.#loop.request('immediate')
  }

  #onRequest({ urgent, initialised }: SyncRequest): void {
    const { table, health, metrics, clock, family } = this.#options
    // Half a list is no basis for deleting anything; the table keeps the change until both lists are complete.
    if (!table.isInitialised) return
    this.#isAsked = true
    if (initialised) return this.#loop.request('immediate')
    health.queuedUpdate(family)
    metrics.syncRequested(family, clock.now())
    this.#loop.request(urgent ? 'urgent' : 'normal')
  }

  async #work(signal: AbortSignal): Promise<WorkOutcome> {
    if (!this.#options.table.isInitialised) return 'succeeded'
    try {
      await this.#sync(signal)
      const againAfterMs = this.#unserved.waitMs(this.#options.clock.monotonic())
      return againAfterMs === undefined ? 'succeeded' : { againAfterMs }
    } catch (error) {
      this.#lastFullAt = undefined
      // A tool that was interrupted because we stop has not failed.
      if (!signal.aborted) {
        this.#failure = messageOf(error)
        this.#log.error('sync failed, will be retried', { error, retryMs: this.#options.periods().retryMs })
      }
      return 'failed'
    }
  }

  async #sync(signal: AbortSignal): Promise<void> {
    const { tracer, clock } = this.#options
    const startedAt = clock.monotonic()
    const span = tracer.start('syncProxyRules')
    const end = (error?: unknown) => {
      const durationMs = clock.monotonic() - startedAt
      if (!signal.aborted) this.#count(durationMs, error)
      span.set({ elapsed_ms: Math.round(durationMs * 1000) / 1000 })
      span.end(error)
    }
    try {
      await this.#syncOnce(startedAt, span, signal)
      end()
    } catch (error) {
      end(error)
      throw error
    }
  }

  #count(durationMs: number, error: unknown): void {
    const { count, failures, lastFailure } = this.#tally
    const atMs = this.#options.clock.now()
    const isFailing = error !== undefined
    this.#tally = {
      count: count + 1,
      failures: failures + (isFailing ? 1 : 0),
      last: { atMs, durationMs },
      lastFailure: isFailing ? { atMs, message: messageOf(error) } : lastFailure,
      isFailing,
    }
  }

  async #syncOnce(startedAt: number, span: Span, signal: AbortSignal): Promise<void> {
    const { backend, metrics, clock, family } = this.#options
    const trigger = this.#trigger()
    const nothingLeft = this.#isAsked ? 'undone' : 'periodic' // a change that another one took back before its turn
    this.#isAsked = false
    const pending = (this.#unprogrammed = this.#take())
    this.#describe(span, pending, trigger ?? (pending.change.causes.length > 0 ? 'change' : nothingLeft))
    let report: SyncReport | undefined
    try {
      report = await backend.sync(pending.view, pending.change, signal, span)
    } finally {
      metrics.syncRan(family, {
        seconds: (clock.monotonic() - startedAt) / 1000,
        full: pending.change.full,
        hasFailed: report === undefined && !signal.aborted,
      })
    }
    this.#unprogrammed = undefined
    this.#failure = undefined
    this.#hasSynced = true
    if (pending.change.full) this.#lastFullAt = startedAt
    const failedKeys = report.failed.map(({ key }) => key)
    this.#unserved.note(pending.change, report.failed, clock.monotonic())
    this.#options.safety?.committed(pending, failedKeys)
    this.#recordSuccess(pending, report, clock.monotonic() - startedAt)
    span.set(report.facts)
    if (failedKeys.length > 0) span.set({ 'routes.failed': failedKeys.length })
    await this.#runAfterSync(pending, signal, span)
  }

  /** Why it runs; undefined: for what is in the table, or because it is time. */
  #trigger(): 'start' | 'retry' | 'configuration' | 'repair' | undefined {
    if (this.#unprogrammed !== undefined) return 'retry'
    if (!this.#hasSynced) return 'start'
    if (this.#isReconfigured) return 'configuration'
    return this.#ownCauses.length > 0 ? 'repair' : undefined
  }

  #describe(span: Span, { view, change, causedBy }: PendingSync, trigger: string): void {
    if (!span.isRecorded) return
    const { backend, table, family } = this.#options
    for (const link of causedBy.links) span.link(link)
    span.set({
      trigger,
      causes: change.causes,
      changes: change.keys.length,
      services: table.serviceCount,
      routes: view.routesByKey.size,
      full: change.full,
      'proxy.mode': backend.name,
      'network.type': family,
    })
    if (causedBy.more > 0) span.set({ 'events.more': causedBy.more })
  }

  #take(): PendingSync {
    this.#options.onBegin?.()
    const taken = this.#options.table.take({ full: this.#isFullDue() })
    this.#isFullRequested = false
    // Flows may have been led, or not, by what is configured no more.
    const needsConntrackCleanup = taken.needsConntrackCleanup || this.#isReconfigured
    this.#isReconfigured = false
    const change = this.#unserved.addTo(this.#withOwnCauses(taken.change), this.#options.clock.monotonic())
    return withUnprogrammed(this.#unprogrammed, { ...taken, change, needsConntrackCleanup })
  }

  #withOwnCauses(change: Change): Change {
    if (this.#ownCauses.length === 0) return change
    return { ...change, causes: [...this.#ownCauses.splice(0), ...change.causes] }
  }

  #isFullDue(): boolean {
    if (this.#isFullRequested) return true
    return this.#lastFullAt === undefined || this.#options.clock.monotonic() - this.#lastFullAt >= fullSyncEveryMs
  }

  #recordSuccess({ view, change, triggerTimesMs }: PendingSync, report: SyncReport, durationMs: number): void {
    const { table, health, metrics, clock, family } = this.#options
    const nowMs = clock.now()
    // The trigger time is another machine's clock: one that runs ahead must not give a negative latency.
    for (const atMs of triggerTimesMs) metrics.programmed(family, Math.max(0, nowMs - atMs) / 1000)
    metrics.noLocalEndpoints(family, 'internal', table.noLocalEndpoints.internal)
    metrics.noLocalEndpoints(family, 'external', table.noLocalEndpoints.external)
    health.updated(family)
    // What was asked for while this sync ran is not programmed yet; health must go on watching it.
    if (this.#loop.isRequested) health.queuedUpdate(family)
    metrics.syncSucceeded(family, nowMs)
    this.#log.debug(2, 'synced', {
      ...report.facts,
      full: change.full,
      routes: change.keys.length,
      causes: change.causes,
      durationMs: Math.round(durationMs * 10) / 10,
    })
    this.#warnOfFailedRoutes(report, view)
    for (const { key, reason } of report.notices ?? []) {
      this.#log.warn('route is not served everywhere', { route: key, reason })
      this.#options.onNotice?.(key, reason)
    }
  }

  #warnOfFailedRoutes(report: SyncReport, view: NodeView): void {
    for (const { key, reason } of report.failed)
      this.#log.warn('route not programmed', { route: key, clusterIP: view.routesByKey.get(key)?.clusterIP, reason })
  }

  async #runAfterSync(pending: PendingSync, signal: AbortSignal, span: Span): Promise<void> {
    for (const hook of this.#options.afterSync) {
      try {
        if (hook.isNote) await hook.run(pending, signal)
        else await within(span, hook.name, (part) => hook.run(pending, signal, part))
      } catch (error) {
        if (signal.aborted) return
        this.#log.error('work after a sync failed', { work: hook.name, error })
      }
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
