/**
 * A socket that hands on what it reads without Node's stream machinery: reads go into one buffer of the thread, and
 * from there straight to the other side. It stops reading while the other side is full.
 */
import type { OnReadOpts, Socket } from 'node:net'
import type { ReadBuffers } from './read-buffers.ts'

export class RelaySocket {
  readonly #buffers: ReadBuffers
  #socket!: Socket
  #sink: Socket | undefined
  /** The one copy that the sink may not have taken yet. */
  #pending: Buffer | undefined
  #isPaused = false

  /** The socket is made with `onread`, paused: nobody reads before `forwardTo`. */
  constructor(buffers: ReadBuffers, open: (onread: OnReadOpts) => Socket) {
    this.#buffers = buffers
    this.#socket = open({ buffer: buffers.incoming, callback: (length) => this.#received(length) })
  }

  get socket(): Socket {
    return this.#socket
  }

  /** From now on what arrives here leaves there, and so does the end. */
  forwardTo(sink: Socket): void {
    this.#sink = sink
    sink.on('drain', () => this.#resume())
    this.#socket.on('end', () => sink.end())
    this.#socket.resume()
  }

  /** False stops reading. */
  #received(length: number): boolean {
    const sink = this.#sink
    if (sink === undefined || sink.destroyed) return false
    const copy = this.#buffers.copyOut(length)
    const hasRoom = sink.write(copy)
    if (sink.writableLength === 0) {
      this.#buffers.giveBack(copy)
      return true
    }
    if (hasRoom) return true
    this.#pending = copy
    this.#isPaused = true
    return false
  }

  #resume(): void {
    // Also comes after a write that the kernel took at once.
    if (!this.#isPaused) return
    if (this.#pending !== undefined) this.#buffers.giveBack(this.#pending)
    this.#pending = undefined
    this.#isPaused = false
    this.#socket.resume()
  }
}
