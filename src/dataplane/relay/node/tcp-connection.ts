/** One client joined to one endpoint: what either sends goes to the other, and so do ends and resets. */
import type { Socket } from 'node:net'
import type { DirectionCount, RelaySocket } from './relay-socket.ts'
import { errorCode } from '../dial-failure.ts'
import { resetSocket, wasReset } from './tcp-reset.ts'

export interface TcpConnectionOptions {
  readonly client: RelaySocket
  readonly backend: RelaySocket
  /** The endpoint's name in the balancer. */
  readonly endpoint: string
  readonly halfCloseTimeoutMs: number
  readonly toEndpoint: DirectionCount
  readonly toClient: DirectionCount
  onClose(this: void, connection: TcpConnection): void
  /** For one that is reported. */
  readonly notes?: CopyNotes | undefined
}

/** How each direction ended. */
export interface CopyNotes {
  ended(direction: 'in' | 'out'): void
  /** The first reason counts. */
  broke(why: string): void
}

export class TcpConnection {
  readonly endpoint: string
  readonly #client: Socket
  readonly #backend: Socket
  readonly #notes: CopyNotes | undefined
  #openSockets = 2

  constructor(options: TcpConnectionOptions) {
    const { client, backend, endpoint, halfCloseTimeoutMs, toEndpoint, toClient, onClose, notes } = options
    this.endpoint = endpoint
    this.#notes = notes
    this.#client = client.socket
    this.#backend = backend.socket
    for (const [side, other] of [
      [this.#client, this.#backend],
      [this.#backend, this.#client],
    ] as const) {
      side.on('error', (error) => {
        notes?.broke(errorCode(error))
        resetSocket(other)
      })
      side.on('end', () => {
        if (notes !== undefined) this.#noteEnd(side, notes)
        this.#expireWhenSilentFor(halfCloseTimeoutMs)
      })
      side.on('timeout', () => this.cut('half-closed for too long'))
      side.on('close', () => {
        this.#openSockets--
        if (this.#openSockets === 0) onClose(this)
      })
    }
    client.forwardTo(this.#backend, toEndpoint)
    backend.forwardTo(this.#client, toClient)
  }

  get bytesIn(): number {
    return this.#client.bytesRead
  }

  get bytesOut(): number {
    return this.#backend.bytesRead
  }

  /** Resets both sides, so that a cut answer does not look like a complete one. */
  cut(why: string): void {
    this.#notes?.broke(why)
    resetSocket(this.#client)
    resetSocket(this.#backend)
  }

  #noteEnd(side: Socket, notes: CopyNotes): void {
    if (wasReset(side)) notes.broke('ECONNRESET')
    notes.ended(side === this.#client ? 'in' : 'out')
  }

  /** Bytes in either direction touch both sockets, so each socket's own timer sees them. */
  #expireWhenSilentFor(timeoutMs: number): void {
    this.#client.setTimeout(timeoutMs)
    this.#backend.setTimeout(timeoutMs)
  }
}
