import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'
import type { KubeError, KubeErrorReason } from '../kube-error.ts'
import type { ResourceQuery } from './resource-query.ts'

/** The state of the copy of one kind of object, for health checks and people. */
export interface ReflectorStatus {
  /** The first complete list has been delivered. */
  readonly hasSynced: boolean
  readonly isConnected: boolean
  /** When the server last sent anything (Unix milliseconds). */
  readonly lastContactMs: number | undefined
  /** The last failure, until something succeeds. */
  readonly lastError: string | undefined
  readonly resourceVersion: string | undefined
  readonly lists: number
  readonly watches: number
  readonly errors: number
}

/** What a reflector reports as it happens; `src/observe` turns it into Prometheus series. */
export interface ReflectorMetrics {
  listed(kind: string, items: number): void
  watchStarted(kind: string): void
  failed(kind: string, reason: KubeErrorReason): void
}

export const noReflectorMetrics: ReflectorMetrics = { listed() {}, watchStarted() {}, failed() {} }

export interface JournalOptions {
  readonly query: ResourceQuery
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: ReflectorMetrics
}

/** Records what happened to one reflector, for health checks, metrics and people. It decides nothing. */
export class ReflectorJournal {
  readonly #options: JournalOptions
  #hasSynced = false
  #isConnected = false
  #lastContactMs: number | undefined
  #trouble: KubeError | undefined
  #lists = 0
  #watches = 0
  #errors = 0

  constructor(options: JournalOptions) {
    this.#options = options
  }

  /** A list from the server has been delivered. */
  get hasListed(): boolean {
    return this.#lists > 0
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  status(resourceVersion: string | undefined): ReflectorStatus {
    return {
      hasSynced: this.#hasSynced,
      isConnected: this.#isConnected,
      lastContactMs: this.#lastContactMs,
      lastError: this.#trouble?.message,
      resourceVersion,
      lists: this.#lists,
      watches: this.#watches,
      errors: this.#errors,
    }
  }

  contact(): void {
    this.#lastContactMs = this.#options.clock.now()
  }

  listed(objects: number, version: string): void {
    const { query, log, metrics } = this.#options
    this.#lists++
    this.contact()
    metrics.listed(query.kind, objects)
    if (this.#hasSynced) log.debug(2, 'list received again', { kind: query.kind, objects, version })
    else log.info('first complete list received', { kind: query.kind, objects, version })
    this.#hasSynced = true
    this.#recovered()
  }

  absent(): void {
    const { query, log } = this.#options
    this.contact()
    if (!this.#hasSynced)
      log.info('the API server does not have this kind of object; continuing without it', { resource: query.resource })
    this.#hasSynced = true
    this.#recovered()
  }

  watchOpened(): void {
    this.#isConnected = true
    this.#watches++
    this.contact()
    this.#options.metrics.watchStarted(this.#options.query.kind)
  }

  watchEnded(): void {
    this.#isConnected = false
  }

  /** A watch continues from where it was, so whatever the trouble was, it is over. */
  caughtUp(): void {
    this.#recovered()
  }

  streamingListGivenUp(problem: string): void {
    this.#options.log.info('streaming list did not work, using plain lists', {
      kind: this.#options.query.kind,
      problem,
    })
  }

  /** Logs each trouble once: a server that is away for an hour is one line, not hundreds. */
  failed(error: KubeError, verb: 'list' | 'watch', delayMs: number): void {
    const { query, log, metrics } = this.#options
    this.#errors++
    metrics.failed(query.kind, error.reason)
    const isKnown = this.#trouble?.reason === error.reason
    this.#trouble = error
    const fields = { resource: query.resource, verb, reason: error.reason, problem: error.message, retryInMs: delayMs }
    if (isKnown) log.debug(2, 'requests to the API server still fail', fields)
    else if (error.reason === 'forbidden')
      log.error('not allowed by RBAC: grant the verbs list and watch on this resource', fields)
    else if (error.reason === 'gone') log.info('the watched version has expired, listing again', fields)
    else log.warn('no contact with the API server, the last state stays in use', fields)
  }

  #recovered(): void {
    const { query, log } = this.#options
    if (this.#trouble !== undefined)
      log.info('in contact with the API server again', { kind: query.kind, after: this.#trouble.reason })
    this.#trouble = undefined
  }
}
