/** One client joined to one endpoint: what either sends goes to the other, and so do ends and resets. */
import type { Socket } from 'node:net'
import { leaveTimeoutMs } from '../connection-age.ts'
import type { Ageing } from './age-watch.ts'
import type { DirectionCount, RelaySocket } from './relay-socket.ts'
import { errorCode } from '../dial-failure.ts'
import type { Limited } from '../relay.ts'
import { resetSocket, wasReset } from './tcp-reset.ts'

export interface TcpConnectionOptions {
  readonly client: RelaySocket
  readonly backend: RelaySocket
  /** The endpoint's name in the balancer. */
  readonly endpoint: string
  readonly startedAtMs: number
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

export class TcpConnection implements Ageing {
  readonly endpoint: string
  readonly startedAtMs: number
  readonly #client: Socket
  readonly #backend: Socket
  readonly #sides: { readonly client: RelaySocket; readonly backend: RelaySocket }
  /** It was too old, and this became of it. */
  limited: Limited | undefined
  readonly #notes: CopyNotes | undefined
  #openSockets = 2

  constructor(options: TcpConnectionOptions) {
    const { client, backend, endpoint, startedAtMs, halfCloseTimeoutMs, toEndpoint, toClient, onClose, notes } = options
    this.endpoint = endpoint
    this.startedAtMs = startedAtMs
    this.#sides = { client, backend }
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
      side.on('timeout', () => (this.limited === undefined ? this.cut('half-closed for too long') : this.endAtOnce()))
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

  get lastRead(): number {
    return Math.max(this.#sides.client.lastRead, this.#sides.backend.lastRead)
  }

  noteTimes(now: () => number): void {
    this.#sides.client.noteTimes(now)
    this.#sides.backend.noteTimes(now)
  }

  get lastReadMs(): number | undefined {
    const { client, backend } = this.#sides
    return (client.lastRead > backend.lastRead ? client : backend).lastReadMs
  }

  get isAnswered(): boolean {
    return this.#sides.backend.lastRead > this.#sides.client.lastRead
  }

  get canEnd(): boolean {
    return [this.#client, this.#backend].every(
      (side) => !side.destroyed && !side.readableEnded && !side.writableEnded && side.writableLength === 0,
    )
  }

  /**
   * Closed towards the client, which then closes its side, and that is passed on. A request that it sends meanwhile is not:
   * it could not get an answer, and the client must be able to tell that nobody worked for it.
   */
  end(): void {
    this.limited = 'aged'
    this.#sides.client.stopForwarding(() => this.endAtOnce())
    this.#sides.backend.stopForwarding(() => {})
    this.#client.once('end', () => this.#backend.destroySoon())
    this.#notes?.ended('out')
    this.#client.end()
    this.#client.setTimeout(leaveTimeoutMs)
  }

  endAtOnce(): void {
    this.limited = 'aged-reset'
    this.cut('it was too old')
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
