/** Who shall reach which endpoints, worked out from the Routes alone. */
import type { TrafficPolicy } from '../../api/records.ts'
import type { NodeView } from '../../core/backend.ts'
import type { Endpoint, Entrance, Route } from '../../core/route.ts'
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
  /** Who serves there, as what, and under which policy. */
  readonly entrance: string
  readonly isSticky: boolean
  readonly client: Client
  readonly reach: Reach
}

/** By text. */
export type Clients = ReadonlyMap<string, ServedClient>

export type EndpointsUnder = (policy: TrafficPolicy, route: Route) => readonly Endpoint[]

const endpointsUnder: EndpointsUnder = (policy, { localEndpoints, clusterEndpoints }) =>
  policy === 'Local' ? localEndpoints : clusterEndpoints

/** Where a mode departs from the usual. */
export interface Ways {
  readonly endpointsUnder?: EndpointsUnder | undefined
  /** It cannot tell who asks, so what is open to some is open to all. */
  readonly ignoresSources?: boolean | undefined
}

/** Those who are turned away are left out. */
export function clientsOf(view: NodeView, plan: AddressPlan, ways?: Ways): Clients {
  return new Map([...everybody(view, plan, ways)].filter(([, { reach }]) => reach.length > 0))
}

/** Also those who shall reach nobody. */
export function everybody(
  { routesByKey }: NodeView,
  plan: AddressPlan,
  { endpointsUnder: under = endpointsUnder, ignoresSources = false }: Ways = {},
): Clients {
  const clients = new Map<string, ServedClient>()
  const [pod = ''] = plan.podsHere
  const [outsider = ''] = plan.clients
  const add = (route: Route, { kind, ...entrance }: Entrance) => {
    const { key, protocol } = route
    const ip = 'ip' in entrance ? entrance.ip : plan.node[0]
    const isInside = kind === 'cluster-ip'
    const from = isInside ? ({ from: 'pod', source: pod } as const) : ({ from: 'outside', source: outsider } as const)
    const client: Client = { ...from, ip, port: entrance.port, protocol }
    const text = clientText(client)
    // The first entrance counts where a Service names an address twice.
    if (clients.has(text)) return
    const { policy } = isInside ? entrance.inside : entrance.outside
    const endpoints = ignoresSources || mayCome(client, route.entrances) ? under(policy, route) : []
    // iptables writes both entrances, as kube-proxy does, and then the second one serves.
    if (endpoints.length === 0 && route.entrances.filter((other) => isAt(ip, other)).length > 1) return
    clients.set(text, {
      entrance: `${kind} of ${key} (${policy})`,
      isSticky: route.affinitySeconds !== undefined,
      client,
      reach: endpoints.map(({ address }) => address).sort(),
    })
  }
  for (const route of routesByKey.values()) {
    const { clusterIP, entrances } = route
    for (const entrance of entrances)
      if (entrance.kind === 'cluster-ip' ? !isLimited(clusterIP, entrances) : !isAt(clusterIP, entrance))
        add(route, entrance)
  }
  return clients
}

function clientText({ from, source, ip, port, protocol }: Client): string {
  return `${protocol} from ${source} (${from}) to ${hostPort(ip, port)}`
}

function isAt(ip: string, entrance: Entrance): boolean {
  return 'ip' in entrance && entrance.ip === ip
}

/** With a cluster IP that is a load-balancer IP too, and is not for everybody, each mode has its own way. */
function isLimited(ip: string, entrances: readonly Entrance[]): boolean {
  return entrances.some((entrance) => isAt(ip, entrance) && entrance.allowed !== undefined)
}

function mayCome({ ip, source }: Client, entrances: readonly Entrance[]): boolean {
  return entrances
    .filter((entrance) => isAt(ip, entrance))
    .every(({ allowed }) => {
      if (allowed === undefined) return true
      return [...allowed.ranges, ...allowed.ownAddresses].some((range) => {
        const cidr = parseCidr(range)
        return cidr === undefined ? range === source : cidrContains(cidr, source)
      })
    })
}
