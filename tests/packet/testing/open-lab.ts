/**
 * A node for any objects: every endpoint, client and address of a Service that is named exists, wherever it is. Unlike
 * the cluster of the rows it has no plan of its own.
 *
 *   clients ══ node ── endpoints
 *               │
 *             beyond    owns the addresses of Services, and answers what left the node untouched
 */
import { families, familyOf } from '../../../src/net/ip.ts'
import { listenTcp, listenUdp } from './echo-server.ts'
import { namespaceOfHost } from './cluster.ts'
import type { Namespace } from './namespace.ts'

export interface Place {
  readonly ip: string
  readonly port: number
  readonly protocol: 'TCP' | 'UDP'
}

export interface LabPlan {
  /** One per family. */
  readonly nodeIPs: readonly string[]
  /** By the name of their host. */
  readonly clientIPs: Readonly<Record<string, readonly string[]>>
  readonly endpoints: readonly Place[]
  /** Of Services, without those of the node. */
  readonly entrances: readonly Place[]
}

const gateway = 'fe80::1'
const gatewayOfBeyond = 'fe80::2'
const everywhere = { ipv4: '0.0.0.0/0', ipv6: '::/0' } as const

export class OpenLab implements Disposable {
  readonly node = namespaceOfHost()
  readonly #clients = new Map<string, Namespace>()
  readonly #endpoints = namespaceOfHost()
  readonly #beyond = namespaceOfHost()
  readonly #listeners: Disposable[] = []

  constructor({ nodeIPs, clientIPs, endpoints, entrances }: LabPlan) {
    const { node } = this
    node.setSysctl('ipv4.ip_forward', 1)
    node.setSysctl('ipv6.conf.all.forwarding', 1)
    for (const [index, [name, ips]] of Object.entries(clientIPs).entries()) {
      const host = namespaceOfHost()
      this.#clients.set(name, host)
      attach(host, `clients-${index}`, node, distinct(ips))
    }
    attach(this.#endpoints, 'endpoints', node, distinct(endpoints.map(({ ip }) => ip)))
    this.#joinBeyond(nodeIPs, distinct(entrances.map(({ ip }) => ip)))
    this.#listen(this.#endpoints, endpoints, ({ ip }) => ip)
    this.#listen(this.#beyond, entrances, () => 'beyond')
  }

  client(name: string): Namespace {
    const host = this.#clients.get(name)
    if (host === undefined) throw new Error(`the lab has no ${name}`)
    return host
  }

  [Symbol.dispose](): void {
    for (const part of [...this.#listeners, ...this.#clients.values(), this.#endpoints, this.#beyond, this.node])
      part[Symbol.dispose]()
  }

  #joinBeyond(nodeIPs: readonly string[], serviceIPs: readonly string[]): void {
    const { node } = this
    this.#beyond.ip(
      `link add eth0 type veth peer name beyond netns ${node.path}`,
      `address add ${gatewayOfBeyond}/64 dev eth0 nodad`,
      'link set eth0 up',
      ...families.map((family) => `route add ${everywhere[family]} via inet6 ${gateway} dev eth0`),
      ...serviceIPs.map((ip) => `route add local ${ip} dev lo`),
    )
    this.#beyond.setSysctl('ipv6.ip_nonlocal_bind', 1)
    node.ip(
      `address add ${gateway}/64 dev beyond nodad`,
      ...nodeIPs.map((ip) => `address add ${ip}${ip.includes(':') ? '/128 nodad' : '/32'} dev beyond`),
      'link set beyond up',
      ...nodeIPs.map((ip) => {
        const range = everywhere[familyOf(ip)]
        return `route add ${range} via inet6 ${gatewayOfBeyond} dev beyond src ${ip}`
      }),
    )
  }

  #listen(host: Namespace, places: readonly Place[], nameOf: (place: Place) => string): void {
    const seen = new Set<string>()
    for (const place of places) {
      const { ip, port, protocol } = place
      // One server for all addresses tells by itself on which one it was asked.
      const key = protocol === 'TCP' ? `TCP ${port}` : `UDP ${ip} ${port}`
      if (seen.has(key)) continue
      seen.add(key)
      this.#listeners.push(
        protocol === 'TCP'
          ? listenTcp(host, nameOf(place) === 'beyond' ? 'beyond' : undefined, port)
          : listenUdp(host, nameOf(place), ip, port),
      )
    }
  }
}

function attach(host: Namespace, device: string, router: Namespace, ips: readonly string[]): void {
  host.ip(
    `link add eth0 type veth peer name ${device} netns ${router.path}`,
    ...ips.map((ip) => `address add ${ip}${ip.includes(':') ? '/128 nodad' : '/32'} dev eth0`),
    'link set eth0 up',
  )
  router.ip(
    `address add ${gateway}/64 dev ${device} nodad`,
    `link set ${device} up`,
    ...ips.map((ip) => `route add ${ip} dev ${device}`),
  )
  host.ip(...families.map((family) => `route add ${everywhere[family]} via inet6 ${gateway} dev eth0`))
}

function distinct(ips: readonly string[]): readonly string[] {
  return [...new Set(ips)]
}
