/** Whether a client is connected to an endpoint by its own socket, so that no packet carries the address of the Service. */
import { isLoopback } from '../../net/ip.ts'
import { tableSlotsOf } from '../balance/slots.ts'
import { hasLimits } from '../route.ts'
import type { Entrance, Route } from '../route.ts'
import type { Source } from './explanation.ts'
import type { Found } from './find-entrance.ts'
import { isNodeAddress } from './places.ts'
import type { SeenRule } from './source-seen.ts'
import type { Scene } from './world.ts'

/** Undefined: this mode does nothing at sockets, or the client has none on this node. */
export interface AtSocket {
  /** Why packets are translated after all. */
  readonly leftBecause: string | undefined
  /** A datagram socket that connects, instead of sending to an address, is left to packets. */
  readonly isConnectLeft: boolean
}

export function atSocket(found: Found, { place }: Source, scene: Scene): AtSocket | undefined {
  const { sockets } = scene.traits
  if (sockets === undefined || (place !== 'this node' && place !== 'pod on this node')) return undefined
  if (place === 'pod on this node' && sockets.clients === 'this node')
    return { leftBecause: 'sockets of pods are left alone (--ebpf-scope=host)', isConnectLeft: false }
  const mayConnect = sockets.connectedUdp === 'this node and its pods' || sockets.connectedUdp === place
  return { leftBecause: whyLeft(found, scene), isConnectLeft: found.route.protocol === 'UDP' && !mayConnect }
}

function whyLeft({ entrance, route, ip }: Found, scene: Scene): string | undefined {
  const { protocol, entrances, sockets, traffic, affinitySeconds } = route
  const { protocols, longestList = Infinity } = scene.traits.sockets ?? {}
  if (protocols?.includes(protocol) === false) return `${protocol} is left to packets`
  if (sockets?.balancing === 'off') return 'the Service wants it so (fairlead.dev/socket-balancing: off)'
  if (traffic?.algorithm === 'source-hash' || traffic?.algorithm === 'maglev')
    return `${traffic.algorithm} goes by the address of the client, which a socket that connects does not have yet`
  if (hasLimits(route)) return 'its limits are for all connections of the port, by whichever way they come'
  if (longestListOf(route) > longestList) return `it has more than ${longestList} endpoints`
  if ('lastPort' in entrance) return 'a range of ports is left to packets'
  if (entrances.some((it) => isAtSame(entrance, it) && it.allowed !== undefined))
    return 'source ranges are asked of packets: a socket that connects has no address yet'
  if (entrance.kind === 'cluster-ip' && isNodeAddress(entrance.ip, scene)) return 'this node has the address itself'
  if (affinitySeconds !== undefined && (ip === undefined || !isLoopback(ip)))
    return 'nftables serves, and remembers which endpoint a client has (sessionAffinity)'
  return undefined
}

function longestListOf({ internal, external }: Route): number {
  const sizes = [internal, external].map((side) =>
    side?.inside.kind === 'forward' ? tableSlotsOf(side.inside.to).length : 0,
  )
  return Math.max(...sizes)
}

function isAtSame(one: Entrance, other: Entrance): boolean {
  return one.port === other.port && ('ip' in one && one.ip) === ('ip' in other && other.ip)
}

export function socketRemark({ leftBecause, isConnectLeft }: AtSocket): string {
  const except = isConnectLeft ? '; but packets are translated for a UDP socket that the client has connected' : ''
  return leftBecause === undefined
    ? `the socket of the client is connected to the endpoint itself: no packet has the address of the Service${except}`
    : `packets are translated, not the socket of the client: ${leftBecause}`
}

export function seenFromSocket({ place, ip }: Source, { table }: Scene): SeenRule {
  // A process of the node may have chosen another of its addresses.
  const isNode = place === 'this node' && (ip === undefined || isLoopback(ip) || ip === table.view.node.ip)
  return {
    of: () => (isNode ? 'node' : 'client'),
    why: 'nothing is translated: the connection goes straight from the socket of the client to the endpoint',
  }
}
