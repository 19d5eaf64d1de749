/** A client, a node and a server in namespaces of their own. All pods of the benchmark's cluster are the server. */
import { Namespace } from '../../packet/testing/namespace.ts'
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
    join(this.#client, node, 'client')
    join(this.#server, node, 'server')
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

/** Links have no addresses of their own but these: routes of IPv4 go through them too. */
const [nodeEnd, hostEnd] = ['fe80::1', 'fe80::2']

function join(host: Namespace, node: Namespace, device: string): void {
  host.ip(
    `link add eth0 type veth peer name ${device} netns ${node.path}`,
    `address add ${hostEnd}/64 dev eth0 nodad`,
    'link set eth0 up',
  )
  node.ip(`address add ${nodeEnd}/64 dev ${device} nodad`, `link set ${device} up`)
  host.ip(`route add 0.0.0.0/0 via inet6 ${nodeEnd} dev eth0`)
}
