import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'

/** Between client and server. It can stop forwarding, like a peer that vanished without a FIN. */
export class TcpProxy implements AsyncDisposable {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #isFrozen = false

  private constructor(targetPort: number) {
    this.#server = createServer((client) => {
      const target = connect(targetPort, '127.0.0.1')
      this.#relay(client, target)
      this.#relay(target, client)
    })
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  freeze(): void {
    this.#isFrozen = true
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    return Promise.resolve()
  }

  #relay(from: Socket, to: Socket): void {
    this.#sockets.add(from)
    from.on('error', () => {})
    from.on('data', (bytes) => void (this.#isFrozen || to.write(bytes)))
    from.on('close', () => void (this.#isFrozen || to.destroy()))
  }
}
