/**
 * One client that watches. Each request allows one change set, so a client that does not ask costs almost nothing. Data
 * is sent in pieces, each when the one before has been taken.
 */
import { constants } from 'node:http2'
import type { ServerHttp2Stream } from 'node:http2'
import { noSpan } from '../../core/trace.ts'
import type { Span } from '../../core/trace.ts'
import type { GlobalStore } from '../store/global-store.ts'
import { inPieces } from '../store/op-bytes.ts'
import type { OpBytes } from '../store/op-bytes.ts'
import { syncFrameWith } from '../wire/causes.ts'
import type { Cause } from '../wire/causes.ts'
import { resetFrame } from '../wire/op-frames.ts'
import { grpcCode, grpcHeaders, statusHeaders, statusOk } from './grpc-status.ts'
import type { GrpcStatus } from './grpc-status.ts'
import type { Pacer, Waiting } from './pacer.ts'
import type { OpenFollower } from './followers.ts'
import { RequestFrames } from './request-frames.ts'

/** What differs between the kinds of streams. */
export interface Watched {
  /** Reads what the client wants to see from a request. */
  read(message: Buffer): string
  /** What the client has to be sent, unless it is up to date. */
  advance(wanted: string): Iterable<OpBytes> | undefined
  /** What the client has been sent; 0: nothing yet. */
  readonly revision: number
  [Symbol.dispose](): void
}

export interface WatchStreamOptions {
  readonly stream: ServerHttp2Stream
  readonly store: GlobalStore
  readonly pacer: Pacer
  readonly maxRequestBytes: number
  /** The time of day (Unix milliseconds). */
  readonly now: () => number
  /** When its connection was last heard of. */
  readonly heardAtMs: () => number
  /** The client wants to know why it is sent something. */
  readonly wantsCauses: boolean
  /** Number of operations, including Reset and Sync. */
  readonly onSent: (operations: number) => void
  /** A change set with these causes begins to be sent to the node. */
  readonly beginSend: (causes: readonly Cause[], node: string) => Span
}

/** A client may send this many requests ahead. Asking faster does not give it more change sets. */
const maxQueued = 64
const pieceLength = 64 * 1024

export class WatchStream implements Waiting, OpenFollower {
  readonly #options: WatchStreamOptions
  readonly #watched: Watched
  readonly #frames: RequestFrames
  readonly #requests: string[] = []
  #hasReset = false
  #hasSentState = false
  #isSending = false
  #isLastRequestIn = false
  #isEnded = false
  #status = statusOk
  #node = ''
  /** What it had been sent when it last asked for more. */
  #takenRevision = 0
  #askedAtMs: number

  constructor(watched: Watched, options: WatchStreamOptions) {
    this.#watched = watched
    this.#options = options
    this.#frames = new RequestFrames(options.maxRequestBytes)
    this.#askedAtMs = options.now()
    const { stream } = options
    stream.respond(grpcHeaders, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers(statusHeaders(this.#status)))
    stream.on('data', (chunk: Buffer) => this.#onData(chunk))
    stream.on('end', () => this.#onLastRequest())
    stream.on('error', () => {}) // 'close' follows
    stream.once('close', () => this.#leave())
  }

  end(status: GrpcStatus): void {
    if (this.#isEnded) return
    const { stream } = this.#options
    this.#status = status
    this.#leave()
    if (stream.destroyed) return
    // A client that does not read what was sent would not read the status either, and would never go away.
    if (this.#isSending && status !== statusOk) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
    else stream.end()
  }

  get node(): string {
    return this.#node
  }

  /** A client that waits for changes has all that there are for it. */
  get revision(): number {
    const isWaiting = this.#requests.length > 0 && !this.#isSending
    return isWaiting ? this.#watched.revision : this.#takenRevision
  }

  get lastContactMs(): number {
    return Math.max(this.#askedAtMs, this.#options.heardAtMs())
  }

  /** Bytes that were sent and not yet taken. */
  get unsentBytes(): number {
    return this.#options.stream.writableLength
  }

  look(): void {
    const wanted = this.#requests[0]
    if (wanted === undefined || this.#isSending || this.#isEnded || !this.#options.store.isSynced) return
    const known = this.#watched.revision
    const changes = this.#watched.advance(wanted)
    // The first state is sent even if it is empty, so that a client can remove what it had before.
    if (changes === undefined && this.#hasSentState) return
    this.#hasSentState = true
    this.#requests.shift()
    this.#options.stream.resume()
    // The first state is what it is, not what somebody has just changed.
    const causes = this.#options.wantsCauses && known > 0 ? this.#options.store.causes.since(known) : []
    void this.#send(changes ?? [], causes, wanted)
  }

  #onData(chunk: Buffer): void {
    const messages = this.#frames.push(chunk)
    if (messages === 'too-large')
      return this.end({ code: grpcCode.resourceExhausted, message: 'the request is larger than this server accepts' })
    if (messages === 'compressed')
      return this.end({ code: grpcCode.unimplemented, message: 'compressed requests are not supported' })
    try {
      for (const message of messages) this.#requests.push((this.#node = this.#watched.read(message)))
    } catch {
      return this.end({ code: grpcCode.invalidArgument, message: 'the request cannot be decoded' })
    }
    if (this.#requests.length >= maxQueued) this.#options.stream.pause()
    this.#askedAtMs = this.#options.now()
    if (!this.#isSending) this.#takenRevision = this.#watched.revision
    this.#onRequest()
  }

  /** The client will not ask again, but still wants what it asked for. */
  #onLastRequest(): void {
    this.#isLastRequestIn = true
    if (!this.#isSending) this.#onRequest()
  }

  #onRequest(): void {
    const { pacer } = this.#options
    if (this.#isEnded) return
    if (this.#requests.length === 0) {
      if (this.#isLastRequestIn) this.end(statusOk)
      return
    }
    if (this.#isSending) return
    pacer.add(this)
    if (this.#hasSentState) return pacer.wake()
    if (!this.#hasReset) {
      this.#hasReset = true
      this.#options.stream.write(resetFrame)
      this.#options.onSent(1)
    }
    this.look()
  }

  async #send(changes: Iterable<OpBytes>, causes: readonly Cause[], wanted: string): Promise<void> {
    const { stream, pacer, onSent, beginSend } = this.#options
    this.#isSending = true
    pacer.remove(this)
    const span = causes.length > 0 ? beginSend(causes, wanted) : noSpan
    const sent = { operations: 0, bytes: 0 }
    for (const { bytes, operations } of inPieces(withSync(changes, causes), pieceLength)) {
      if (this.#isEnded) return span.end(new Error('the client has gone'))
      const hasRoom = stream.write(bytes)
      onSent(operations)
      sent.operations += operations
      sent.bytes += bytes.length
      if (!hasRoom) await drained(stream)
    }
    this.#isSending = false
    span.set(sent)
    span.end()
    this.#onRequest()
  }

  #leave(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#options.pacer.remove(this)
    this.#watched[Symbol.dispose]()
  }
}

function* withSync(changes: Iterable<OpBytes>, causes: readonly Cause[]): Generator<OpBytes> {
  yield* changes
  yield { bytes: syncFrameWith(causes), operations: 1 }
}

/** Also resolves when the client is gone. */
function drained(stream: ServerHttp2Stream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) return resolve()
    const done = () => {
      stream.off('drain', done)
      stream.off('close', done)
      resolve()
    }
    stream.on('drain', done)
    stream.on('close', done)
  })
}
