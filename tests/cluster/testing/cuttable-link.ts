import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'

/** A TCP relay to a server of the test, which can be cut and mended: what a client behind a bad network meets. */
export class CuttableLink implements AsyncDisposable {
  readonly #target: URL
  readonly #listener: Server
  readonly #sockets = new Set<Socket>()
  #isCut = false
  /** How many connections clients have made. */
  connections = 0

  private constructor(target: URL) {
    this.#target = target
    this.#listener = createServer((client) => this.#relay(client))
  }

  static async to(url: string): Promise<CuttableLink> {
    const link = new CuttableLink(new URL(url))
    link.#listener.listen(0, '127.0.0.1')
    await once(link.#listener, 'listening')
    return link
  }

  /** Where clients reach the server through this link. */
  get url(): string {
    return `${this.#target.protocol}//127.0.0.1:${(this.#listener.address() as AddressInfo).port}`
  }

  /** Ends every connection without a word, and new ones as soon as they are made. */
  cut(): void {
    this.#isCut = true
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  mend(): void {
    this.#isCut = false
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut()
    await once(this.#listener.close(), 'close')
  }

  #relay(client: Socket): void {
    if (this.#isCut) {
      client.resetAndDestroy()
      return
    }
    this.connections += 1
    const server = connect(Number(this.#target.port), this.#target.hostname)
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        this.#sockets.delete(from)
        to.destroy()
      })
    }
  }
}
