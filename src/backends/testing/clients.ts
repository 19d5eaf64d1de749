/** Who shall reach which endpoints, worked out from the Routes alone. */
import type { TrafficPolicy } from '../../api/records.ts'
import type { NodeView } from '../../core/backend.ts'
import type { Endpoint, Route } from '../../core/route.ts'
import type { AddressPlan } from '../../core/testing/random-cluster.ts'
import { cidrContains, hostPort, parseCidr } from '../../net/ip.ts'

/** A new connection, or the first datagram. */
export interface Client {
  /** A pod of this node, or a machine outside of the cluster. */
  readonly from: 'pod' | 'outside'
  readonly source: string
  readonly ip: string
  readonly port: number
  readonly protocol: Route['protocol']
}

/** Endpoints as `ip:port`, sorted. Empty: the client is not served for sure, whatever else becomes of it. */
export type Reach = readonly string[]

export interface ServedClient {
  /** Who serves there, and as what. */
  readonly entrance: string
  readonly client: Client
  readonly reach: Reach
}

/** By text. */
export type Clients = ReadonlyMap<string, ServedClient>

export type EndpointsUnder = (policy: TrafficPolicy, route: Route) => readonly Endpoint[]

const endpointsUnder: EndpointsUnder = (policy, { localEndpoints, clusterEndpoints }) =>
  policy === 'Local' ? localEndpoints : clusterEndpoints

/** Those who are turned away are left out. */
export function clientsOf(
  { routesByKey }: NodeView,
  plan: AddressPlan,
  under: EndpointsUnder = endpointsUnder,
): Clients {
  const clients = new Map<string, ServedClient>()
  const add = (entrance: string, client: Client, endpoints: readonly Endpoint[]) => {
    if (endpoints.length > 0)
      clients.set(clientText(client), { entrance, client, reach: endpoints.map(({ address }) => address).sort() })
  }
  const [pod = ''] = plan.podsHere
  const [outsider = ''] = plan.clients
  for (const route of routesByKey.values()) {
    const { key, clusterIP, port, protocol, nodePort } = route
    // With a cluster IP that is a load-balancer IP too, and has source ranges, each mode has its own way.
    if (route.sourceRanges === undefined || !route.loadBalancerIPs.includes(clusterIP))
      add(
        `cluster IP of ${key}`,
        { from: 'pod', source: pod, ip: clusterIP, port, protocol },
        under(route.internalPolicy, route),
      )
    const external = under(route.externalPolicy, route)
    for (const ip of new Set([...route.externalIPs, ...route.loadBalancerIPs]))
      if (ip !== clusterIP && mayCome(outsider, ip, route))
        add(`${kindOf(ip, route)} of ${key}`, { from: 'outside', source: outsider, ip, port, protocol }, external)
    if (nodePort !== 0)
      add(
        `node port of ${key}`,
        { from: 'outside', source: outsider, ip: plan.node[0], port: nodePort, protocol },
        external,
      )
  }
  return clients
}

function clientText({ from, source, ip, port, protocol }: Client): string {
  return `${protocol} from ${source} (${from}) to ${hostPort(ip, port)}`
}

/** One that is both counts as external. */
function kindOf(ip: string, { externalIPs }: Route): string {
  return externalIPs.includes(ip) ? 'external IP' : 'load-balancer IP'
}

function mayCome(source: string, ip: string, { loadBalancerIPs, sourceRanges }: Route): boolean {
  if (sourceRanges === undefined || !loadBalancerIPs.includes(ip)) return true
  return sourceRanges.some((range) => {
    const cidr = parseCidr(range)
    return cidr !== undefined && cidrContains(cidr, source)
  })
}
