/**
 * One watch: the content of the collection, or what changed since a revision, then each change as it is committed. A
 * watch is only a position in the shared history, so nothing is lost or sent twice between list and stream.
 */
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../core/clock.ts'
import { isSelected } from '../verbs/list.ts'
import type { Kind } from '../verbs/kinds.ts'
import type { WatchQuery } from '../http/query.ts'
import { expired, tooLargeResourceVersion } from '../status.ts'
import type { Store } from '../store/store.ts'
import type { Entry } from '../store/entry.ts'
import type { Position } from '../store/history.ts'
import { errorLine, type WatchEncoder } from './encoder.ts'
import { eventFor } from './events.ts'

export interface WatchRequest {
  readonly store: Store
  readonly kind: Kind
  /** Absent: all namespaces. */
  readonly namespace: string | undefined
  readonly query: WatchQuery
  readonly encoder: WatchEncoder
  readonly clock: Clock
  readonly bookmarkIntervalMs: number
  /** If the client sends no timeoutSeconds. */
  readonly defaultTimeoutMs: number
}

/** Serves the watch until it times out, the client leaves, it falls too far behind, or the signal aborts. */
export async function serveWatch(request: WatchRequest, response: ServerResponse, signal: AbortSignal): Promise<void> {
  const start = startOf(request)
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' })
  response.flushHeaders()
  if (start === 'too-old') {
    const { revision = 0 } = request.query
    const oldest = request.store.collection(request.kind.collection).history.oldestRevision
    response.end(errorLine(expired(`too old resource version: ${revision} (${oldest})`)))
    return
  }
  await new WatchStream(request, start, response).run(signal)
}

interface WatchStart {
  /** Sent as ADDED before anything else. */
  readonly initial: readonly Entry[]
  readonly initialRevision: number
  readonly tellsEndOfInitial: boolean
  /** The first change to look at. */
  readonly position: Position
  /** Only later changes are sent: a client may know more than this server does after a restore. */
  readonly afterRevision: number
}

function startOf({ store, kind, namespace, query }: WatchRequest): WatchStart | 'too-old' {
  const collection = store.collection(kind.collection)
  const { revision = 0, sendInitialEvents, allowBookmarks } = query
  const now = { initialRevision: store.revision, position: collection.history.end, afterRevision: store.revision }
  if (sendInitialEvents === true) {
    if (revision > store.revision) throw tooLargeResourceVersion(revision, store.revision)
    return { ...now, initial: collection.list(namespace), tellsEndOfInitial: allowBookmarks }
  }
  // "Any" and "latest" begin with the current objects, unless the client does not want them.
  if (revision === 0) {
    const initial = sendInitialEvents === false ? [] : collection.list(namespace)
    return { ...now, initial, tellsEndOfInitial: false }
  }
  const position = collection.history.seek(revision)
  if (position === undefined) return 'too-old'
  return { ...now, initial: [], tellsEndOfInitial: false, position, afterRevision: revision }
}

class WatchStream {
  readonly #request: WatchRequest
  readonly #start: WatchStart
  readonly #response: ServerResponse
  readonly #wakeup = new Wakeup()
  #position: Position
  #isOver = false
  #isBookmarkDue = false

  constructor(request: WatchRequest, start: WatchStart, response: ServerResponse) {
    this.#request = request
    this.#start = start
    this.#response = response
    this.#position = start.position
  }

  async run(signal: AbortSignal): Promise<void> {
    const { store, kind, clock } = this.#request
    const timers = new AbortController()
    const stopListening = store.collection(kind.collection).listen(() => this.#onCommit())
    const end = () => this.#end()
    signal.addEventListener('abort', end, { once: true })
    this.#response.once('close', end)
    this.#response.on('drain', () => this.#wakeup.wake())
    const waits = [
      whenPassed(clock, timeoutOf(this.#request), timers.signal, end),
      this.#requestBookmarks(timers.signal),
    ]
    if (signal.aborted) this.#end()
    try {
      await this.#tellInitial()
      await this.#tellChanges()
    } finally {
      stopListening()
      signal.removeEventListener('abort', end)
      timers.abort()
      await Promise.all(waits)
      const { socket } = this.#response
      // A server that stops does not wait for the client to close the connection.
      this.#response.end(() => void (signal.aborted && socket?.end()))
    }
  }

  async #tellInitial(): Promise<void> {
    const { kind, encoder, query } = this.#request
    const { initial, initialRevision, tellsEndOfInitial } = this.#start
    for (const entry of initial) {
      if (this.#isOver) return
      const presented = kind.present(entry)
      if (isSelected(presented, query.selection)) await this.#write(encoder.event({ type: 'ADDED', presented }))
    }
    if (tellsEndOfInitial) await this.#write(encoder.bookmark(initialRevision, true))
  }

  async #tellChanges(): Promise<void> {
    const { store, encoder, query } = this.#request
    for (;;) {
      const isUpToDate = await this.#tellKnownChanges()
      if (!isUpToDate) return
      // All changes up to the store's revision have been sent, so a bookmark may name it.
      if (query.allowBookmarks && (this.#isBookmarkDue || this.#isOver)) {
        this.#isBookmarkDue = false
        await this.#write(encoder.bookmark(store.revision, false))
      }
      if (this.#isOver) return
      await this.#wakeup.wait()
    }
  }

  /** Returns false if the watch has fallen behind the history. */
  async #tellKnownChanges(): Promise<boolean> {
    const { store, kind, namespace, query, encoder } = this.#request
    const { history } = store.collection(kind.collection)
    while (this.#position < history.end) {
      const change = history.at(this.#position)
      if (change === undefined || this.#response.destroyed) return false
      this.#position++
      if (change.entry.revision <= this.#start.afterRevision) continue
      const event = eventFor(change, kind, namespace, query.selection)
      if (event !== undefined) await this.#write(encoder.event(event))
    }
    return true
  }

  /** Waits until the client has read what it was sent before. */
  async #write(line: Buffer | string): Promise<void> {
    if (this.#response.destroyed || this.#response.write(line)) return
    while (this.#response.writableNeedDrain && !this.#response.destroyed) {
      if (this.#isOver) this.#response.destroy()
      else await this.#wakeup.wait()
    }
  }

  #onCommit(): void {
    const { store, kind } = this.#request
    // The client does not read, and the changes it has not seen are forgotten, so the connection is useless.
    if (store.collection(kind.collection).history.at(this.#position) === undefined) this.#response.destroy()
    this.#wakeup.wake()
  }

  async #requestBookmarks(signal: AbortSignal): Promise<void> {
    if (!this.#request.query.allowBookmarks) return
    while (!signal.aborted) {
      await whenPassed(this.#request.clock, this.#request.bookmarkIntervalMs, signal, () => {
        this.#isBookmarkDue = true
        this.#wakeup.wake()
      })
    }
  }

  #end(): void {
    this.#isOver = true
    this.#wakeup.wake()
  }
}

function timeoutOf({ query, defaultTimeoutMs }: WatchRequest): number {
  // A timer of more than 31 bits would fire at once.
  return query.timeoutSeconds === undefined ? defaultTimeoutMs : Math.min(query.timeoutSeconds * 1000, 2 ** 31 - 1)
}

async function whenPassed(clock: Clock, ms: number, signal: AbortSignal, then: () => void): Promise<void> {
  try {
    await clock.sleep(ms, signal)
  } catch (error) {
    if (signal.aborted) return
    throw error
  }
  then()
}

/** Lets one waiter sleep until it is woken. A call while nothing waits is not lost: the next wait returns at once. */
class Wakeup {
  #isWoken = false
  #waiter: (() => void) | undefined

  wake(): void {
    this.#isWoken = true
    this.#waiter?.()
  }

  async wait(): Promise<void> {
    if (!this.#isWoken) await new Promise<void>((resolve) => (this.#waiter = resolve))
    this.#waiter = undefined
    this.#isWoken = false
  }
}
