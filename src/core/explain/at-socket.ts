/** Whether a client is connected to an endpoint by its own socket, so that no packet carries the address of the Service. */
import { isLoopback } from '../../net/ip.ts'
import { leftForAffinity, whyEntranceIsLeft, whyRouteIsLeft } from '../left-to-packets.ts'
import type { Source } from './explanation.ts'
import type { Found } from './find-entrance.ts'
import type { SocketTraits } from './mode-traits.ts'
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
  return { leftBecause: whyLeft(found, sockets, scene), isConnectLeft: found.route.protocol === 'UDP' && !mayConnect }
}

function whyLeft({ entrance, route, ip }: Found, sockets: SocketTraits, scene: Scene): string | undefined {
  const why =
    whyRouteIsLeft(route, sockets) ?? whyEntranceIsLeft(entrance, route, (address) => isNodeAddress(address, scene))
  if (why !== undefined) return why
  const isOnLoopback = ip !== undefined && isLoopback(ip)
  return route.affinitySeconds === undefined || isOnLoopback ? undefined : leftForAffinity
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
