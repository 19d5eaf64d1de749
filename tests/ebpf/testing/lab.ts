/**
 * A node with three pods: a client, its neighbour, and one with all servers. Instead of nftables there is somebody on the
 * node who answers for every Service address: who is left to the packet path hears "packets".
 */
import { families } from '../../../src/net/ip.ts'
import { listenTcp, listenUdp } from '../../packet/testing/echo-server.ts'
import { Namespace } from '../../packet/testing/namespace.ts'

/** They serve TCP and UDP. */
export const serverPlaces = {
  ipv4: ['10.77.1.11:8080', '10.77.1.12:8080', '10.77.1.13:8080', '10.77.1.14:8080'],
  ipv6: ['[fd77:1::11]:8080', '[fd77:1::12]:8080', '[fd77:1::13]:8080', '[fd77:1::14]:8080'],
} as const

export const podAddresses = { ipv4: '10.77.2.2', ipv6: 'fd77:2::2' } as const
/** Of the node, towards the pods. */
export const nodeAddresses = { ipv4: '10.77.2.1', ipv6: 'fd77:2::1' } as const

export class Lab implements Disposable {
  readonly host = quickNamespace()
  readonly servers: Namespace
  readonly pod: Namespace
  readonly neighbour: Namespace
  readonly #open: Disposable[] = []

  constructor() {
    this.servers = this.#pod(1, [11, 12, 13, 14])
    this.pod = this.#pod(2, [2])
    this.neighbour = this.#pod(3, [2])
    this.host.setSysctl('ipv4.ip_forward', 1)
    this.host.setSysctl('ipv6.conf.all.forwarding', 1)
    this.host.setSysctl('ipv6.ip_nonlocal_bind', 1)
    this.host.ip('route add local 10.96.0.0/16 dev lo', 'route add local fd96::/64 dev lo')
    this.#open.push(listenTcp(this.servers, undefined, 8080), listenTcp(this.pod, 'the pod itself', 30_080))
    for (const port of [80, 81, 30_080]) this.#open.push(listenTcp(this.host, 'packets', port))
    for (const number of [11, 12, 13, 14])
      for (const ip of [`10.77.1.${number}`, `fd77:1::${number}`])
        this.#open.push(listenUdp(this.servers, ip, ip, 8080))
    for (const number of [1, 2, 3, 4, 5])
      for (const ip of [`10.96.0.${number}`, `fd96::${number}`])
        this.#open.push(listenUdp(this.host, 'packets', ip, 53))
    for (const ip of Object.values(podAddresses)) this.#open.push(listenUdp(this.pod, ip, ip, 8080))
    this.#open.push(listenTcp(this.pod, undefined, 8080))
  }

  [Symbol.dispose](): void {
    for (const part of this.#open.splice(0).reverse()) part[Symbol.dispose]()
    for (const namespace of [this.pod, this.neighbour, this.servers, this.host]) namespace[Symbol.dispose]()
  }

  #pod(number: number, hosts: readonly number[]): Namespace {
    const pod = quickNamespace()
    pod.ip(
      `link add eth0 type veth peer name pod-${number} netns ${this.host.path}`,
      ...hosts.map((host) => `address add 10.77.${number}.${host}/24 dev eth0`),
      ...hosts.map((host) => `address add fd77:${number}::${host}/64 dev eth0 nodad`),
      'link set eth0 up',
    )
    this.host.ip(
      `address add 10.77.${number}.1/24 dev pod-${number}`,
      `address add fd77:${number}::1/64 dev pod-${number} nodad`,
      `link set pod-${number} up`,
    )
    pod.ip(...families.map((family) => `route add default via ${gateway(family === 'ipv4', number)}`))
    return pod
  }
}

/** IPv6 would wait a second for somebody who has the same address, and answer nobody meanwhile. */
function quickNamespace(): Namespace {
  const namespace = Namespace.make()
  for (const links of ['all', 'default']) namespace.setSysctl(`ipv6.conf.${links}.accept_dad`, 0)
  return namespace
}

function gateway(isV4: boolean, number: number): string {
  return isV4 ? `10.77.${number}.1` : `fd77:${number}::1`
}
