/**
 * A socket that hands on what it reads without Node's stream machinery: reads go into one buffer of the thread, and
 * from there straight to the other side. It stops reading while the other side is full.
 */
import type { OnReadOpts, Socket } from 'node:net'
import type { ReadBuffers } from './read-buffers.ts'
import { resetSocket, wasReset } from './tcp-reset.ts'

/** Counts one direction of a connection. */
export interface DirectionCount {
  moved(this: void, bytes: number): void
  /** By how much the number of bytes that are read, and not taken by the other side, has changed. */
  waiting(this: void, bytes: number): void
}

export class RelaySocket {
  readonly #buffers: ReadBuffers
  #socket!: Socket
  #sink: Socket | undefined
  #count: DirectionCount | undefined
  #onUnwanted: (() => void) | undefined
  /** Which read of all in this thread was the last of this socket: tells whether something moved, and who was the last. */
  lastRead = 0
  /** When that was, once somebody wants to know: most never do, and asking for the time at each read costs something. */
  lastReadMs: number | undefined
  #now: (() => number) | undefined
  /** The one copy that the sink may not have taken yet. */
  #pending: Buffer | undefined
  /** Bytes that wait in the sink while this side is paused. */
  #waitingBytes = 0

  /** `open` must return a paused socket, so that nothing is read before `forwardTo`. */
  constructor(buffers: ReadBuffers, open: (onread: OnReadOpts) => Socket) {
    this.#buffers = buffers
    this.#socket = open({ buffer: buffers.incoming, callback: (length) => this.#received(length) })
  }

  get socket(): Socket {
    return this.#socket
  }

  /** Sends everything that is read from now on, and the end, to the sink. */
  forwardTo(sink: Socket, count: DirectionCount): void {
    this.#sink = sink
    this.#count = count
    sink.on('drain', () => this.#resume())
    this.#socket.on('end', () => this.#ended(sink))
    this.#socket.on('close', () => this.#noteWaiting(0))
    this.#socket.resume()
  }

  noteTimes(now: () => number): void {
    this.#now = now
  }

  /** What comes from now on goes nowhere: it is only told that it came. */
  stopForwarding(onRead: () => void): void {
    this.#sink = undefined
    this.#onUnwanted = onRead
  }

  /** Returning false makes Node stop reading. */
  #received(length: number): boolean {
    const sink = this.#sink
    if (this.#onUnwanted !== undefined) {
      this.#onUnwanted()
      return true
    }
    if (sink === undefined || sink.destroyed) return false
    this.lastRead = ++this.#buffers.reads
    if (this.#now !== undefined) this.lastReadMs = this.#now()
    this.#count?.moved(length)
    const copy = this.#buffers.copyOut(length)
    const hasRoom = sink.write(copy)
    if (sink.writableLength === 0) {
      this.#buffers.giveBack(copy)
      return true
    }
    if (hasRoom) return true
    this.#pending = copy
    this.#noteWaiting(sink.writableLength)
    return false
  }

  #ended(sink: Socket): void {
    if (!wasReset(this.#socket)) return void sink.end()
    this.#socket.destroy()
    resetSocket(sink)
  }

  #resume(): void {
    // `drain` also comes after a write that the kernel took at once.
    if (this.#waitingBytes === 0) return
    if (this.#pending !== undefined) this.#buffers.giveBack(this.#pending)
    this.#pending = undefined
    this.#noteWaiting(0)
    this.#socket.resume()
  }

  #noteWaiting(bytes: number): void {
    if (bytes !== this.#waitingBytes) this.#count?.waiting(bytes - this.#waitingBytes)
    this.#waitingBytes = bytes
  }
}
