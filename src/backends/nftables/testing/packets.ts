/** Packets that tell whether a table does what it shall: to every address that means something, from everywhere. */
import type { NodeView } from '../../../core/backend.ts'
import type { Route } from '../../../core/route.ts'
import type { Packet, PacketNode } from './packet.ts'

export interface Surroundings {
  readonly node: PacketNode
  /** Where packets come from that do not come from the node itself. */
  readonly senders: readonly Sender[]
  /** Addresses that belong to nobody, and some of the node that no Service names. */
  readonly strangers: readonly string[]
}

export interface Sender {
  readonly ip: string
  readonly inInterface: string
}

/** Each destination from each sender, and from the node. */
export function packetsFor({ routesByKey }: NodeView, surroundings: Surroundings): readonly Packet[] {
  return destinationsFor([...routesByKey.values()], surroundings).flatMap((destination) => [
    ...surroundings.senders.map(({ ip, inInterface }): Packet => ({
      enters: 'prerouting',
      source: ip,
      inInterface,
      ...destination,
    })),
    ...ownSources(destination.destination, surroundings.node).map((source): Packet => ({
      enters: 'output',
      source,
      inInterface: '',
      ...destination,
    })),
  ])
}

type PacketDestination = Pick<Packet, 'destination' | 'protocol' | 'port'>

function destinationsFor(routes: readonly Route[], surroundings: Surroundings): readonly PacketDestination[] {
  const { node, strangers } = surroundings
  const loopback = node.family === 'ipv4' ? ['127.0.0.1', '127.7.7.7'] : ['::1']
  const elsewhere = [...node.localIps, ...loopback, ...strangers]
  const found = routes.flatMap((route) => {
    const protocol = route.protocol.toLowerCase()
    const other = protocol === 'udp' ? 'tcp' : 'udp'
    const vips = route.entrances.flatMap((entrance) => (entrance.kind === 'node-port' ? [] : [entrance.ip]))
    const nodePort = route.entrances.find(({ kind }) => kind === 'node-port')?.port
    return [
      ...vips.flatMap((destination) => [
        { destination, protocol, port: route.port },
        { destination, protocol, port: route.port + 1 },
        { destination, protocol: other, port: route.port },
        { destination, protocol: 'icmp', port: 0 },
      ]),
      ...(route.ranges ?? []).flatMap(({ ip: destination, port, lastPort }) =>
        [port - 1, port, lastPort, lastPort + 1].map((each) => ({ destination, protocol, port: each })),
      ),
      ...(nodePort === undefined
        ? []
        : [
            ...[...elsewhere, ...vips.slice(0, 1)].map((destination) => ({ destination, protocol, port: nodePort })),
            { destination: node.localIps[0] ?? '', protocol: other, port: nodePort },
          ]),
      ...route.endpoints.slice(0, 2).map(({ ip, port }) => ({ destination: ip, protocol, port })),
    ]
  })
  found.push(...elsewhere.map((destination) => ({ destination, protocol: 'tcp', port: 80 })))
  return [...new Map(found.map((destination) => [Object.values(destination).join(' '), destination])).values()]
}

/** Which source the kernel picks for a program here: the address itself when it is the node's own. */
function ownSources(destination: string, { family, localIps }: PacketNode): readonly string[] {
  const isLoopbackAddress = family === 'ipv4' ? destination.startsWith('127.') : destination === '::1'
  if (isLoopbackAddress) return [destination]
  if (localIps.includes(destination)) return [destination]
  return localIps.slice(0, 1)
}
