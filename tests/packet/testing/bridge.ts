/**
 * Pods behind a bridge of node 1, as many network plugins have them. They share a network, so what one sends to the other
 * does not pass through the node's routing.
 */
import { families } from '../../../src/net/ip.ts'
import type { Family } from '../../../src/net/ip.ts'
import type { Cluster } from './cluster.ts'
import { podPorts } from './cluster.ts'
import { listenTcp } from './echo-server.ts'
import { Namespace } from './namespace.ts'
import { nodeName } from './service-fixture.ts'
import type { KubernetesObject, ServiceFixture } from './service-fixture.ts'

interface Network {
  readonly gateway: string
  readonly length: number
  pod(number: number): string
}

const networks: Readonly<Record<Family, Network>> = {
  ipv4: { gateway: '10.244.9.1', length: 24, pod: (number) => `10.244.9.${10 + number}` },
  ipv6: { gateway: 'fd00:244:9::1', length: 64, pod: (number) => `fd00:244:9::${10 + number}` },
}

export class BridgedPods implements Disposable {
  /** Two of them; the first has a server. */
  readonly namespaces: readonly [Namespace, Namespace]
  readonly #open: Disposable[] = []

  constructor({ node }: Cluster) {
    node.ip(
      'link add cni0 type bridge',
      ...families.map((family) => `address add ${withLength(family, networks[family].gateway)} dev cni0`),
      'link set cni0 up',
    )
    // As Kubernetes wants it: what is bridged passes by the rules of iptables, too.
    for (const tool of ['iptables', 'ip6tables']) node.setSysctl(`bridge.bridge-nf-call-${tool}`, 1)
    this.namespaces = [this.#attach(node, 0), this.#attach(node, 1)]
    this.#open.push(listenTcp(this.namespaces[0], 'bridged', podPorts.web))
  }

  ip(number: 0 | 1, family: Family): string {
    return networks[family].pod(number)
  }

  /** The node's own address on the bridge. */
  gateway(family: Family): string {
    return networks[family].gateway
  }

  /** Make the first pod an endpoint of the Service. */
  slicesOf({ name, ports }: ServiceFixture): readonly KubernetesObject[] {
    return families.map((family) => ({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: `${name}-bridged-${family}`,
        namespace: 'shop',
        labels: { 'kubernetes.io/service-name': name },
      },
      addressType: family === 'ipv4' ? 'IPv4' : 'IPv6',
      ports: ports.map((port) => ({ name: port.name, protocol: port.protocol, port: port.target })),
      endpoints: [{ addresses: [this.ip(0, family)], nodeName, conditions: { ready: true } }],
    }))
  }

  [Symbol.dispose](): void {
    for (const part of this.#open.splice(0).reverse()) part[Symbol.dispose]()
  }

  #attach(node: Namespace, number: number): Namespace {
    const pod = Namespace.make()
    this.#open.push(pod)
    pod.ip(
      `link add eth0 type veth peer name bridged-${number} netns ${node.path}`,
      ...families.map((family) => `address add ${withLength(family, networks[family].pod(number))} dev eth0`),
      'link set eth0 up',
      ...families.map((family) => `route add default via ${networks[family].gateway}`),
    )
    node.ip(`link set bridged-${number} master cni0`, `link set bridged-${number} up`)
    return pod
  }
}

function withLength(family: Family, ip: string): string {
  return `${ip}/${networks[family].length}${family === 'ipv6' ? ' nodad' : ''}`
}
