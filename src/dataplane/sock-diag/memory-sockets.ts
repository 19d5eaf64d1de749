/** Sockets that exist only in memory. */
import { SocketsError } from './sockets.ts'
import type { ConnectedSocket, Destruction, FoundSockets, Reach, Sockets } from './sockets.ts'

export class MemorySockets implements Sockets {
  readonly #byCookie = new Map<bigint, ConnectedSocket>()
  /** Makes every call that destroys fail, as on a kernel that cannot. */
  refuseWith: SocketsError['reason'] | undefined
  /** Namespaces that cannot be entered. */
  readonly unreachable = new Set<bigint>()
  readonly #own: bigint | undefined

  constructor({ own = 1n }: { readonly own?: bigint | undefined } = {}) {
    this.#own = own
  }

  /** As a program does with `connect`. */
  connect(socket: ConnectedSocket): void {
    this.#byCookie.set(socket.cookie, socket)
  }

  /** As a program does with `close`. */
  close(cookie: bigint): void {
    this.#byCookie.delete(cookie)
  }

  /** What is connected now. */
  connected(): readonly ConnectedSocket[] {
    return [...this.#byCookie.values()]
  }

  async ownNamespace(): Promise<bigint | undefined> {
    return this.#own
  }

  async reach(): Promise<Reach> {
    const others = this.connected().filter(({ netns }) => netns !== this.#own && !this.unreachable.has(netns))
    if (others.length > 0) return 'others'
    return this.unreachable.size > 0 ? 'closed' : 'alone'
  }

  async find(
    protocol: ConnectedSocket['protocol'],
    isWanted: (ip: string, port: number) => boolean,
    signal: AbortSignal,
  ): Promise<FoundSockets> {
    signal.throwIfAborted()
    const sockets = this.connected().filter(
      (socket) =>
        socket.protocol === protocol && !this.unreachable.has(socket.netns) && isWanted(socket.ip, socket.port),
    )
    return { sockets, closedNamespaces: this.unreachable.size }
  }

  async destroy(sockets: readonly ConnectedSocket[], signal: AbortSignal): Promise<Destruction> {
    signal.throwIfAborted()
    if (this.refuseWith !== undefined)
      throw new SocketsError(this.refuseWith, `cannot destroy sockets: ${this.refuseWith}`)
    const reached = sockets.filter(({ netns }) => !this.unreachable.has(netns))
    const unreached = sockets.filter(({ netns }) => this.unreachable.has(netns))
    const found = reached.filter((wanted) => {
      const socket = this.#byCookie.get(wanted.cookie)
      return socket !== undefined && isSame(socket, wanted)
    })
    for (const { cookie } of found) this.#byCookie.delete(cookie)
    return { destroyed: found.length, unreached: unreached.map(({ cookie }) => cookie) }
  }

  async tryDestroy(signal: AbortSignal): Promise<void> {
    await this.destroy([], signal)
  }
}

const isSame = (a: ConnectedSocket, b: ConnectedSocket): boolean =>
  a.netns === b.netns && a.protocol === b.protocol && a.ip === b.ip && a.port === b.port
