/** A client, a node and a server in namespaces of their own. All pods of the benchmark's cluster are the server. */
import { Namespace } from '../../packet/testing/namespace.ts'
import { hostEnd, joinNamespaces } from '../joined-namespaces.ts'
import { connectTime, Listener } from './connect-time.ts'
import type { TcpAddress } from './connect-time.ts'

const podPort = 8080
/** The lower half of the pods' range. */
const serverRange = '10.128.0.0/10'
/** In the upper half: a pod too, so that its address is kept. */
const clientIp = '10.255.255.1'

export class PacketSite implements Disposable {
  readonly node = Namespace.make()
  readonly #client = Namespace.make()
  readonly #server = Namespace.make()
  readonly #listener: Listener

  constructor() {
    const { node } = this
    joinNamespaces(this.#client, node, 'client')
    joinNamespaces(this.#server, node, 'server')
    node.setSysctl('ipv4.ip_forward', 1)
    this.#client.ip(`address add ${clientIp} dev eth0`)
    this.#server.ip(`route add local ${serverRange} dev lo`)
    node.ip(
      `route add ${clientIp} via inet6 ${hostEnd} dev client`,
      `route add ${serverRange} via inet6 ${hostEnd} dev server`,
    )
    this.#listener = new Listener(this.#server, podPort)
  }

  /** In microseconds. */
  connectTime(to: TcpAddress): number {
    return connectTime(this.#client, to, this.#listener)
  }

  [Symbol.dispose](): void {
    this.#listener[Symbol.dispose]()
    for (const namespace of [this.#client, this.#server, this.node]) namespace[Symbol.dispose]()
  }
}
