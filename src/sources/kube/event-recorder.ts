import { createHash } from 'node:crypto'
import { systemClock } from '../../core/clock.ts'
import type { Clock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import type { Logger } from '../../core/logger.ts'
import { eventsPath, renderEvent, renderSeries } from './event-object.ts'
import type { ProxyEvent } from './event-object.ts'
import type { KubeClient } from './kube-client.ts'
import { KubeError } from './kube-error.ts'
import { Watchdog } from './watchdog.ts'

export interface EventRecorderOptions {
  readonly client: Pick<KubeClient, 'request'>
  /** Of this machine, to tell the instances in a cluster apart. */
  readonly hostname: string
  readonly clock?: Clock
  readonly log?: Logger
}

/** An event that is to be created first and then counted up. */
interface Series {
  readonly event: ProxyEvent
  readonly firstMs: number
  name: string
  lastMs: number
  count: number
  /** How many of `count` the server has been told. */
  sentCount: number
  /** Not sent before this (monotonic) time. */
  dueMs: number
  failures: number
}

const mostSeries = 1000
/** A repetition within this time counts an event up; a later one is a new event, as in client-go. */
const seriesEndsAfterMs = 6 * 60_000
/** However often something happens, it costs the API server one request in this time. */
const sendEveryMs = 60_000
const retryMs = 10_000
const mostFailures = 12
/** How long a process that ends may take to send the last events. */
const flushLimitMs = 5_000

/** Posts events about this node and its Services. Recording never waits and never fails. */
export class EventRecorder {
  readonly #client: EventRecorderOptions['client']
  readonly #hostname: string
  readonly #clock: Clock
  readonly #log: Logger
  /** In the order in which they first happened. */
  readonly #seriesByKey = new Map<string, Series>()
  #nap = new AbortController()
  #names = 0n

  constructor({ client, hostname, clock = systemClock, log = silentLogger }: EventRecorderOptions) {
    this.#client = client
    this.#hostname = hostname
    this.#clock = clock
    this.#log = log
  }

  record(event: ProxyEvent): void {
    const { regarding, type, reason, action } = event
    const key = JSON.stringify([regarding, type, reason, action])
    const nowMs = this.#clock.now()
    const known = this.#seriesByKey.get(key)
    if (known !== undefined && nowMs - known.lastMs < seriesEndsAfterMs) {
      known.count++
      known.lastMs = nowMs
    } else {
      this.#makeRoom()
      this.#seriesByKey.delete(key)
      this.#seriesByKey.set(key, {
        event,
        firstMs: nowMs,
        name: this.#nameFor(event),
        lastMs: nowMs,
        count: 1,
        sentCount: 0,
        dueMs: this.#clock.monotonic(),
        failures: 0,
      })
    }
    this.#nap.abort()
  }

  /** Sends until aborted, then sends the rest, for a few seconds at most. */
  async run(signal: AbortSignal): Promise<void> {
    const wake = () => this.#nap.abort()
    signal.addEventListener('abort', wake)
    try {
      while (!signal.aborted) {
        const next = this.#nextUnsent()
        const waitMs = next === undefined ? Infinity : next.dueMs - this.#clock.monotonic()
        if (next !== undefined && waitMs <= 0) await this.#send(next, signal)
        else await this.#sleep(waitMs)
      }
    } finally {
      signal.removeEventListener('abort', wake)
    }
    await this.#flush()
  }

  async #flush(): Promise<void> {
    using limit = new Watchdog({
      clock: this.#clock,
      limitMs: flushLimitMs,
      message: 'the last events could not be sent',
      parent: new AbortController().signal,
    })
    for (const series of this.#seriesByKey.values())
      if (series.sentCount < series.count && !limit.signal.aborted) await this.#send(series, limit.signal)
    const lost = [...this.#seriesByKey.values()].filter(({ sentCount, count }) => sentCount < count).length
    if (lost > 0) this.#log.warn('events were not sent before the process ended', { events: lost })
  }

  #nextUnsent(): Series | undefined {
    let next: Series | undefined
    for (const series of this.#seriesByKey.values())
      if (series.sentCount < series.count && (next === undefined || series.dueMs < next.dueMs)) next = series
    return next
  }

  async #sleep(ms: number): Promise<void> {
    const nap = (this.#nap = new AbortController())
    if (ms === Infinity) await new Promise((resolve) => nap.signal.addEventListener('abort', resolve, { once: true }))
    else await this.#clock.sleep(ms, nap.signal).catch(() => {})
  }

  async #send(series: Series, signal: AbortSignal): Promise<void> {
    const { count } = series
    try {
      await (series.sentCount === 0 ? this.#create(series, signal) : this.#countUp(series, signal))
      series.sentCount = count
      series.failures = 0
      series.dueMs = this.#clock.monotonic() + sendEveryMs
    } catch (error) {
      if (error instanceof KubeError) this.#handleFailure(series, error)
      else if (!signal.aborted) throw error
    }
  }

  async #create(series: Series, signal: AbortSignal): Promise<void> {
    const body = renderEvent(series.name, series, this.#hostname)
    await this.#client.request({ method: 'POST', path: eventsPath(series.event.regarding), body }, signal)
  }

  async #countUp({ name, event, count, lastMs }: Series, signal: AbortSignal): Promise<void> {
    await this.#client.request(
      {
        method: 'PATCH',
        path: `${eventsPath(event.regarding)}/${name}`,
        body: { series: renderSeries(count, lastMs) },
        contentType: 'application/merge-patch+json',
      },
      signal,
    )
  }

  #handleFailure(series: Series, error: KubeError): void {
    const { event, sentCount, count } = series
    if (error.reason === 'conflict' && sentCount === 0) {
      // The first attempt did arrive; only its answer was lost.
      series.sentCount = 1
    } else if (error.reason === 'not-found' && sentCount > 0) {
      // The server keeps events for an hour only, so a new one is created.
      series.name = this.#nameFor(event)
      series.sentCount = 0
    } else if (isFinal(error) || ++series.failures >= mostFailures) {
      series.sentCount = count
      this.#log.warn('event not posted', {
        reason: event.reason,
        subject: event.regarding.name,
        problem: error.message,
      })
    } else series.dueMs = this.#clock.monotonic() + Math.max(retryMs, error.retryAfterMs ?? 0)
  }

  #makeRoom(): void {
    if (this.#seriesByKey.size < mostSeries) return
    const [oldest] = this.#seriesByKey
    if (oldest === undefined) return
    const [key, { event, sentCount, count }] = oldest
    this.#seriesByKey.delete(key)
    if (sentCount < count)
      this.#log.warn('event dropped: too many wait for the API server', {
        reason: event.reason,
        subject: event.regarding.name,
      })
  }

  /** Nanoseconds, as in kube-proxy's event names; the counter keeps two of the same millisecond apart. */
  #nameFor(event: ProxyEvent): string {
    const { regarding, reason, note, isSameOnEveryNode } = event
    if (isSameOnEveryNode === true) {
      const digest = createHash('sha256').update(`${reason} ${note}`).digest('hex').slice(0, 16)
      return `${regarding.name}.${digest}`
    }
    const nanos = BigInt(Math.floor(this.#clock.now())) * 1_000_000n + (this.#names++ % 1_000_000n)
    return `${regarding.name}.${nanos.toString(16)}`
  }
}

/** Retrying cannot succeed. */
function isFinal({ reason }: KubeError): boolean {
  return reason === 'forbidden' || reason === 'invalid' || reason === 'not-found'
}
