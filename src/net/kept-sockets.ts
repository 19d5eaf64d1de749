/**
 * The sockets that this process listens with, so that it can hand them to the one that takes over from it; and those
 * that it was handed itself. A client that connects meanwhile waits in the socket, whoever has it.
 */
import { handleOf } from './socket-handle.ts'

export interface KeptSocket {
  /** What it is for: the same in both processes. */
  readonly use: string
  readonly protocol: 'TCP' | 'UDP'
  readonly ip: string
  readonly port: number
  readonly fd: number
}

export class KeptSockets {
  readonly #openByUse = new Map<string, KeptSocket>()
  readonly #handedByUse = new Map<string, KeptSocket>()
  readonly #offers = new Set<() => readonly KeptSocket[]>()
  /**
   * Another process has them too: it takes over from this one, or has not handed over completely. Whoever closes one
   * here leaves everything that leads to it.
   */
  areShared = false

  /** Those that are in use here. */
  get open(): readonly KeptSocket[] {
    return [...this.#openByUse.values(), ...[...this.#offers].flatMap((offer) => offer())]
  }

  /** Another process had them. */
  wereHanded(sockets: readonly KeptSocket[]): void {
    for (const socket of sockets) this.#handedByUse.set(socket.use, socket)
  }

  /** One that was handed over and that nobody here uses yet. */
  handed(use: string): KeptSocket | undefined {
    return this.#handedByUse.get(use)
  }

  /** Its descriptor belongs to the caller from now on. Undefined if there is none for the use at this address. */
  take(wanted: Omit<KeptSocket, 'fd'>): number | undefined {
    const found = this.#handedByUse.get(wanted.use)
    if (found?.protocol !== wanted.protocol || found.ip !== wanted.ip) return undefined
    if (wanted.port !== 0 && wanted.port !== found.port) return undefined
    this.#handedByUse.delete(wanted.use)
    return found.fd
  }

  opened(socket: KeptSocket): void {
    this.#openByUse.set(socket.use, socket)
  }

  /** Somebody who knows at any time which ones it has; until the returned function is called. */
  offer(those: () => readonly KeptSocket[]): () => void {
    this.#offers.add(those)
    return () => void this.#offers.delete(those)
  }

  closed(use: string): void {
    this.#openByUse.delete(use)
  }

  /** What nobody wanted. The caller closes them. */
  takeRest(): readonly KeptSocket[] {
    const rest = [...this.#handedByUse.values()]
    this.#handedByUse.clear()
    return rest
  }
}

/** The descriptor of a socket of Node's. Undefined on Windows. */
export function descriptorOf(socket: object): number | undefined {
  const { fd } = (handleOf(socket) ?? {}) as { readonly fd?: number }
  return fd !== undefined && fd >= 0 ? fd : undefined
}
