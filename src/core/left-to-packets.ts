/**
 * Which clients a mode that connects sockets to endpoints leaves to packets all the same, and why. Who programs the sockets and who
 * explains them both ask here.
 */
import { tableSlotCount } from './balance/slots.ts'
import type { Protocol } from '../api/records.ts'
import { hasLimits } from './route.ts'
import type { Entrance, RangeEntrance, Route } from './route.ts'

/** What a mode can do at sockets. */
export interface SocketReach {
  readonly protocols: readonly Protocol[]
  /** Of endpoints, each as often as its weight says. A longer one is left to packets. */
  readonly longestList: number
}

/** Of the whole Service port, wherever it is asked for. Undefined: at sockets it can be served. */
export function whyRouteIsLeft(route: Route, { protocols, longestList }: SocketReach): string | undefined {
  const { protocol, sockets, traffic } = route
  if (!protocols.includes(protocol)) return `sockets of ${protocol} are left alone`
  if (sockets?.balancing === 'off') return 'the Service wants it so (fairlead.dev/socket-balancing: off)'
  if (traffic?.algorithm === 'source-hash' || traffic?.algorithm === 'maglev')
    return `${traffic.algorithm} goes by the address of the client, which a socket that connects does not have yet`
  // Clients elsewhere come by packets, so all are counted there.
  if (hasLimits(route)) return 'its limits are for all connections of the port, by whichever way they come'
  if (listLengthOf(route) > longestList)
    return `its list would be longer than ${longestList}, each endpoint counted as often as its weight says`
  return undefined
}

/** Of one entrance of a Service port that can be served at sockets. */
export function whyEntranceIsLeft(
  entrance: Entrance | RangeEntrance,
  { entrances }: Route,
  isOfThisNode: (ip: string) => boolean,
): string | undefined {
  if ('lastPort' in entrance) return 'a range of ports is left to packets'
  // A cluster IP is restricted, too, if it is a load balancer's as well.
  for (const other of entrances)
    if (other.allowed !== undefined && isAtSame(entrance, other))
      return 'source ranges are asked of packets: a socket that connects has no address yet'
  // A cache of DNS answers on the node listens at the cluster IP of DNS, and shall be reached.
  if (entrance.kind === 'cluster-ip' && isOfThisNode(entrance.ip)) return 'this node has the address itself'
  return undefined
}

/** A client has one memory, so with affinity packets serve wherever they come. */
export const leftForAffinity = 'nftables serves, and remembers which endpoint a client has (sessionAffinity)'

function listLengthOf({ internal, external }: Route): number {
  const lengthOf = (side: Route['external']) => (side?.inside.kind === 'forward' ? tableSlotCount(side.inside.to) : 0)
  return Math.max(lengthOf(internal), lengthOf(external))
}

function isAtSame(one: Entrance, other: Entrance): boolean {
  return one.port === other.port && ('ip' in one && one.ip) === ('ip' in other && other.ip)
}
