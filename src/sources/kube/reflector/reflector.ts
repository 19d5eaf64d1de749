import { type Clock, systemClock } from '../../../core/clock.ts'
import { silentLogger, type Logger } from '../../../core/logger.ts'
import type { KindSink } from '../../kind-sink.ts'
import { abortable } from '../abortable.ts'
import { Backoff, usualLongestMs } from './backoff.ts'
import { InitialEvents } from './initial-events.ts'
import type { KubeClient } from '../kube-client.ts'
import { KubeError } from '../kube-error.ts'
import { listObjects } from './list-objects.ts'
import {
  ReflectorJournal,
  noReflectorMetrics,
  type ReflectorMetrics,
  type ReflectorStatus,
} from './reflector-journal.ts'
import type { ResourceQuery } from './resource-query.ts'
import { StreamPosition } from './stream-position.ts'
import { watchEvents, type WatchEvent, type WatchStart } from './watch-events.ts'

export interface ReflectorOptions<Item> {
  readonly client: KubeClient
  readonly query: ResourceQuery
  readonly sink: KindSink<Item>
  /** For the pauses between requests; time limits within a request use the client's clock. */
  readonly clock?: Clock
  /** 0 ≤ x < 1. */
  readonly random?: () => number
  readonly log?: Logger
  readonly metrics?: ReflectorMetrics
  /** Whether to ask for streaming lists (feature gate WatchListClient). */
  readonly usesStreamingLists?: boolean
  /** Of the pauses while the server cannot be reached. */
  readonly longestPauseMs?: number
  /** Until then the server is asked, but what it answers waits to be read. Soon, because the server's patience is limited. */
  readonly mayRead?: Promise<unknown>
}

/** Shorter watches count as failures, so that a server which hangs up at once is not asked in a tight loop. */
const shortWatchMs = 30_000
/** A rotated token or certificate is used within twice this time (the wait is extended at random). */
const credentialRetryMs = 5_000
/** An API that the cluster does not have may come with an upgrade. */
const absentRetryMs = 5 * 60_000

/** Keeps a sink equal to the server's objects of one kind, through every failure, until aborted. */
export class Reflector<Item> {
  readonly #options: Required<Omit<ReflectorOptions<Item>, 'mayRead'>> & Pick<ReflectorOptions<Item>, 'mayRead'>
  readonly #backoff: Backoff
  readonly #journal: ReflectorJournal
  /** How far we have followed the server's history; without it we must list. */
  #position: StreamPosition | undefined
  /** The next list must not be older: `0` takes anything (the first list), empty takes only the newest. */
  #listFrom = '0'
  /** `not-now`: the server did not finish a streaming list, so the next one is a plain list. `never`: it has none. */
  #streaming: 'yes' | 'not-now' | 'never'

  constructor(options: ReflectorOptions<Item>) {
    this.#options = {
      clock: systemClock,
      random: Math.random,
      log: silentLogger,
      metrics: noReflectorMetrics,
      usesStreamingLists: true,
      longestPauseMs: usualLongestMs,
      ...options,
    }
    this.#streaming = this.#options.usesStreamingLists ? 'yes' : 'never'
    this.#backoff = new Backoff(this.#options.clock, this.#options.random, this.#options.longestPauseMs)
    this.#journal = new ReflectorJournal(this.#options)
  }

  status(): ReflectorStatus {
    return this.#journal.status(this.#position?.version)
  }

  /** Resolves when aborted. Rejects only for a bug, such as a sink that throws. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const delayMs = await this.#listOrWatch(signal).catch((error: unknown) => {
        if (signal.aborted) return 0
        if (error instanceof KubeError) return this.#recover(error)
        throw error
      })
      if (delayMs > 0) await this.#options.clock.sleep(delayMs, signal).catch(() => {})
    }
  }

  /** One request and everything that follows from it. Returns how long to wait before the next. */
  #listOrWatch(signal: AbortSignal): Promise<number> {
    if (this.#position !== undefined) return this.#watch({ kind: 'version', version: this.#position.version }, signal)
    if (this.#streaming !== 'yes') return this.#list(signal)
    return this.#watch({ kind: 'initial-events', notOlderThan: this.#listFrom === '0' ? '' : this.#listFrom }, signal)
  }

  async #list(signal: AbortSignal): Promise<number> {
    const { client, query, sink, mayRead } = this.#options
    if (mayRead !== undefined) await abortable(mayRead, signal)
    const read = (object: unknown) => {
      const item = sink.read(object)
      sink.foresee?.(item)
      return item
    }
    const { items, version } = await listObjects({ client, query, notOlderThan: this.#listFrom, read }, signal)
    this.#deliver(items, version)
    return 0
  }

  async #watch(start: WatchStart, signal: AbortSignal): Promise<number> {
    const { client, query, sink, clock, random, mayRead } = this.#options
    const startedMs = clock.monotonic()
    let events = 0
    let initial = start.kind === 'initial-events' ? new InitialEvents(sink) : undefined
    const request = {
      client,
      query,
      start,
      mayRead,
      timeoutSeconds: 300 + Math.floor(random() * 300),
      onOpen: () => this.#journal.watchOpened(),
      onBytes: () => this.#journal.contact(),
      onEvent: (event: WatchEvent) => {
        events++
        if (initial === undefined) this.#apply(event)
        else if (event.endsInitialEvents && event.version !== undefined) {
          this.#deliver(initial.items, event.version)
          initial = undefined
        } else if (event.type !== 'BOOKMARK') initial.add(event)
        else return false // an ordinary bookmark: the server does not know streaming lists, and just watches
        return true
      },
    }
    try {
      await watchEvents(request, signal)
    } catch (error) {
      if (initial !== undefined && this.#givesUpStreaming(error)) return 0
      throw error
    } finally {
      this.#journal.watchEnded()
    }
    if (initial !== undefined) return this.#useList('not-now', 'the watch ended before the initial events did')
    if (clock.monotonic() - startedMs < shortWatchMs) return this.#backoff.next()
    // Neither an event nor a bookmark in all that time. Perhaps the server's history restarted below our version (etcd
    // was restored from a backup), and it stays silent until it gets there. A list tells.
    if (events === 0) this.#relist()
    return 0
  }

  #apply(event: WatchEvent): void {
    const { sink, query } = this.#options
    const { type, key, version, object } = event
    const position = this.#position
    if (position === undefined) return
    this.#journal.caughtUp()
    switch (position.advance(event)) {
      case 'repeated':
        return
      case 'backwards':
        throw new KubeError(
          'protocol',
          `watch ${query.path}: ${type} ${key} has version ${version}, older than ${position.version}`,
        )
      case 'next':
        if (type === 'BOOKMARK') return
        if (type === 'DELETED') sink.remove(sink.read(object))
        else sink.upsert(sink.read(object))
    }
  }

  #deliver(items: readonly Item[], version: string): void {
    this.#options.sink.replace(items)
    this.#position = new StreamPosition(version)
    if (this.#streaming === 'not-now') this.#streaming = 'yes'
    this.#journal.listed(items.length, version)
  }

  /** Whether a plain list is worth trying at once after this failure. */
  #givesUpStreaming(error: unknown): boolean {
    if (!(error instanceof KubeError)) return false
    const isRefused = error.reason === 'invalid'
    const isUnfinished = error.reason === 'protocol' || (error.reason === 'timeout' && this.#journal.isConnected)
    if (isRefused || isUnfinished) this.#useList(isRefused ? 'never' : 'not-now', error.message)
    return isRefused || isUnfinished
  }

  #useList(streaming: 'not-now' | 'never', problem: string): number {
    this.#streaming = streaming
    this.#journal.streamingListGivenUp(problem)
    return 0
  }

  #relist(notOlderThan = this.#position?.version ?? ''): void {
    this.#position = undefined
    this.#listFrom = notOlderThan
  }

  /** Decides what a failure means for our position, and returns how long to wait. */
  #recover(error: KubeError): number {
    const { query, sink, random } = this.#options
    if (error.reason === 'not-found' && query.mayBeAbsent === true && !this.#journal.hasListed) {
      if (!this.#journal.status(undefined).hasSynced) sink.replace([])
      this.#journal.absent()
      return absentRetryMs * (1 + random())
    }
    const verb = this.#position === undefined ? 'list' : 'watch'
    const delayMs = this.#delayAfter(error)
    this.#journal.failed(error, verb, delayMs)
    if (error.reason === 'forbidden') sink.forbidden?.()
    // This list asked for a version that the server cannot serve, so take the newest.
    if (versionIsGone(error)) this.#relist(verb === 'list' ? '' : undefined)
    // Watching from the same place would fail in the same way.
    else if (verb === 'watch' && isAboutTheRequest(error)) this.#relist()
    return delayMs
  }

  #delayAfter(error: KubeError): number {
    const limitMs = isAboutCredentials(error) ? credentialRetryMs : undefined
    return Math.max(this.#backoff.next(limitMs), error.retryAfterMs ?? 0)
  }
}

function versionIsGone({ reason }: KubeError): boolean {
  return reason === 'gone' || reason === 'version-unavailable'
}

/** The server answers and we may talk to it, but this request fails. */
function isAboutTheRequest({ reason }: KubeError): boolean {
  return reason === 'protocol' || reason === 'invalid' || reason === 'not-found'
}

function isAboutCredentials({ reason }: KubeError): boolean {
  return reason === 'unauthorized' || reason === 'untrusted' || reason === 'credentials'
}
