/**
 * Two nodes with pods, and clients outside. Everything that is not a pod or a node address leaves node 1 towards
 * "beyond", which owns the ranges of Services and answers there: so a packet that no rule touched is seen, not lost.
 *
 *    outside  blocked      beyond
 *         \     |         /
 *          \    |        /
 *   here-* ── node 1 ── node 2 ── there-*
 *   caller      (the proxy under test runs in node 1)
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { families } from '../../../src/net/ip.ts'
import type { ClientName, PodName } from './address-plan.ts'
import { clients, localPods, plans, remotePods } from './address-plan.ts'
import { listenEcho, listenTcp, listenUdp } from './echo-server.ts'
import { Namespace } from './namespace.ts'
import type { TestCgroup } from './test-cgroup.ts'

export type HostName = PodName | ClientName

export class Cluster implements Disposable {
  readonly node: Namespace
  readonly #beyond: Namespace
  readonly #hosts = new Map<HostName, Namespace>()
  #generation = 0
  /** Closed in reverse order. */
  readonly #open: Disposable[] = []

  constructor() {
    try {
      this.node = this.#add()
      this.#beyond = this.#add()
      this.#build()
    } catch (error) {
      this[Symbol.dispose]()
      throw error
    }
  }

  host(name: HostName): Namespace {
    const found = this.#hosts.get(name)
    if (found === undefined) throw new Error(`no host "${name}" in the cluster of the test`)
    return found
  }

  /** What runs on node 1, its pods included, belongs to this cgroup from now on. */
  useCgroup(cgroup: TestCgroup): void {
    for (const namespace of [this.node, ...localPods.map((pod) => this.host(pod))]) namespace.useCgroup(cgroup)
  }

  /** Each time another number, whichever proxy is at work. */
  nextGeneration(): number {
    return this.#generation++
  }

  /** Resolves when the node's uplink runs: the kernel says so up to a second after it can carry packets. */
  async isUp(): Promise<void> {
    const deadline = performance.now() + 10_000
    while (!this.node.run('ip', ['-o', 'link', 'show', 'uplink']).includes('state UP')) {
      if (performance.now() > deadline) throw new Error('the link between the nodes of the test does not come up')
      await sleep(20)
    }
  }

  /** The node itself answers on this port, where no rule leads elsewhere. */
  listenOnNode(port: number): void {
    this.#open.push(listenTcp(this.node, 'the node', port))
  }

  /** The pod answers on further ports. */
  listenOnPod(name: PodName, ports: readonly number[]): void {
    for (const port of ports) this.#open.push(listenTcp(this.host(name), name, port))
  }

  /** The pod of node 1 has these addresses, too: one client is many. */
  addPodAddresses(name: (typeof localPods)[number], ips: readonly string[]): void {
    this.host(name).ip(...ips.map((ip) => `address add ${ip} dev eth0${ip.includes(':') ? ' nodad' : ''}`))
    this.node.ip(...ips.map((ip) => `route add ${ip} dev ${deviceOf(name)}`))
  }

  /** The same with UDP, at both of its addresses. */
  listenToUdpOnPod(name: PodName, ports: readonly number[]): void {
    for (const port of ports)
      for (const family of families) this.#open.push(listenUdp(this.host(name), name, plans[family].hosts[name], port))
  }

  /** What leaves the node untouched is answered on this UDP port too. */
  listenBeyond({ ip, port }: { readonly ip: string; readonly port: number }): void {
    this.#open.push(listenUdp(this.#beyond, 'beyond', ip, port))
  }

  /** Gives node 1 an address that it does not use as a source by itself. */
  addNodeAddress(ip: string): void {
    this.node.ip(`address add ${ip} dev uplink ${ip.includes(':') ? 'nodad preferred_lft 0' : ''}`)
  }

  [Symbol.dispose](): void {
    for (const part of this.#open.splice(0).reverse()) part[Symbol.dispose]()
  }

  #build(): void {
    const { node } = this
    const [remoteNode, beyond] = [this.#add(), this.#beyond]
    for (const router of [node, remoteNode]) forward(router)
    joinNodes(node, remoteNode)
    joinBeyond(node, beyond)
    for (const port of beyondPorts) this.#open.push(listenTcp(beyond, 'beyond', port))
    for (const name of clients) this.#attach(name, node)
    for (const name of localPods) this.#serve(name, this.#attach(name, node))
    for (const name of remotePods) this.#serve(name, this.#attach(name, remoteNode))
  }

  #attach(name: HostName, router: Namespace): Namespace {
    const host = this.#add()
    attach(host, name, router)
    this.#hosts.set(name, host)
    return host
  }

  #serve(name: PodName, pod: Namespace): void {
    for (const port of [podPorts.web, podPorts.secure, podPorts.dnsTcp]) this.#open.push(listenTcp(pod, name, port))
    this.#open.push(listenEcho(pod, podPorts.echo))
    for (const family of families)
      for (const port of [podPorts.web, podPorts.dnsUdp])
        this.#open.push(listenUdp(pod, name, plans[family].hosts[name], port))
  }

  #add(): Namespace {
    const namespace = namespaceOfHost()
    this.#open.push(namespace)
    return namespace
  }
}

export const podPorts = { web: 8080, secure: 8443, dnsTcp: 5353, dnsUdp: 53, echo: 7 } as const

const beyondPorts = [80, 81, 443] as const
/** Links to routers have no addresses but this one; routes of both families go through it. */
const gateway = 'fe80::1'
const gatewayOfBeyond = 'fe80::2'
const everywhere = { ipv4: '0.0.0.0/0', ipv6: '::/0' } as const

export function namespaceOfHost(): Namespace {
  const host = Namespace.make()
  for (const scope of ['all', 'default']) {
    // New addresses are usable at once.
    host.setSysctl(`ipv6.conf.${scope}.accept_dad`, 0)
    host.setSysctl(`ipv4.conf.${scope}.rp_filter`, 0)
    host.setSysctl(`ipv4.conf.${scope}.send_redirects`, 0)
  }
  // The kernel tells one client once a second that a port is unreachable; tests ask faster.
  host.setSysctl('ipv4.icmp_ratelimit', 0)
  host.setSysctl('ipv6.icmp.ratelimit', 0)
  return host
}

function forward(router: Namespace): void {
  router.setSysctl('ipv4.ip_forward', 1)
  router.setSysctl('ipv6.conf.all.forwarding', 1)
}

function joinNodes(node: Namespace, remoteNode: Namespace): void {
  const { ipv4, ipv6 } = plans
  remoteNode.ip(
    `link add uplink type veth peer name uplink netns ${node.path}`,
    `address add ${ipv4.remoteNodeIP}/24 dev uplink`,
    `address add ${ipv6.remoteNodeIP}/64 dev uplink nodad`,
    'link set uplink up',
  )
  node.ip(
    `address add ${ipv4.nodeIP}/24 dev uplink`,
    `address add ${ipv4.secondNodeIP}/24 dev uplink`,
    `address add ${ipv6.nodeIP}/64 dev uplink nodad`,
    // Deprecated: it answers, but the node does not choose it as a source.
    `address add ${ipv6.secondNodeIP}/64 dev uplink nodad preferred_lft 0`,
    'link set uplink up',
    // The other end stays down.
    'link add idle type veth peer name idle-end',
    'link set idle up',
    ...families.map((family) => `address add ${plans[family].idleNodeIP} dev idle`),
    ...remotePods.flatMap((pod) =>
      families.map((family) => `route add ${plans[family].hosts[pod]} via ${plans[family].remoteNodeIP}`),
    ),
  )
  // Answers of remote pods come back through node 1, also to clients whose address was kept.
  remoteNode.ip(`route add default via ${ipv4.nodeIP}`, `route add default via ${ipv6.nodeIP}`)
}

function joinBeyond(node: Namespace, beyond: Namespace): void {
  beyond.ip(
    `link add eth0 type veth peer name beyond netns ${node.path}`,
    `address add ${gatewayOfBeyond}/64 dev eth0 nodad`,
    'link set eth0 up',
    ...families.flatMap((family) => [
      `route add ${everywhere[family]} via inet6 ${gateway} dev eth0`,
      `route add local ${plans[family].serviceRange} dev lo`,
      `route add local ${plans[family].publicRange} dev lo`,
    ]),
  )
  // A route makes the ranges local; IPv6 wants an address, or this, before a server may use one of them.
  beyond.setSysctl('ipv6.ip_nonlocal_bind', 1)
  node.ip(
    `address add ${gateway}/64 dev beyond nodad`,
    'link set beyond up',
    ...families.map(
      (family) => `route add ${everywhere[family]} via inet6 ${gatewayOfBeyond} dev beyond src ${plans[family].nodeIP}`,
    ),
  )
}

/** A host with one address per family and a link of its own to its router, as pods have with routed networks. */
function attach(host: Namespace, name: HostName, router: Namespace): void {
  const addresses = families.map((family) => plans[family].hosts[name])
  const device = deviceOf(name)
  host.ip(
    `link add eth0 type veth peer name ${device} netns ${router.path}`,
    ...addresses.map((ip) => `address add ${ip} dev eth0${ip.includes(':') ? ' nodad' : ''}`),
    'link set eth0 up',
  )
  router.ip(
    `address add ${gateway}/64 dev ${device} nodad`,
    `link set ${device} up`,
    ...addresses.map((ip) => `route add ${ip} dev ${device}`),
  )
  host.ip(...families.map((family) => `route add ${everywhere[family]} via inet6 ${gateway} dev eth0`))
}

/** The node's end of a pod's link starts with this. */
export const podInterfacePrefix = 'pod-'

function deviceOf(name: HostName): string {
  return (clients as readonly HostName[]).includes(name) ? name : `${podInterfacePrefix}${name}`
}
