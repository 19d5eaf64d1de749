/** Where to listen for a route, and who serves behind each address. Pure: what the machine allows shows when listening. */
import type { NodeFacts } from '../../core/backend.ts'
import type { TrafficPolicy } from '../../api/records.ts'
import { outcomeUnder } from '../../core/routing/outcome.ts'
import { routeName, type Endpoint, type NonEmpty, type Outcome, type Route, type RouteKey } from '../../core/route.ts'
import type { ListenerSpec, PoolEndpoint, PoolSpec } from '../../dataplane/relay/relay.ts'
import { parseCidr, type Cidr } from '../../net/ip.ts'

/** Which addresses the routes are served at. */
export type ListenPolicy =
  /** The Service's own: they must be addresses of this machine (in 127.0.0.0/8 all are, on Linux). */
  | { readonly kind: 'service-addresses' }
  /** One loopback address for everything, each route at a port of its own: laptops and the demo. */
  | { readonly kind: 'loopback'; readonly host?: string }

export type Purpose =
  | 'cluster-ip'
  | 'external-ip'
  | 'load-balancer-ip'
  | 'node-port'
  /** Rules of the kernel lead here from the Service's addresses. */
  | 'proxy-port'

export interface PlannedListener {
  /** Names the listener in the relay; the same id is the same listener. */
  readonly id: string
  readonly purpose: Purpose
  readonly protocol: ListenerSpec['protocol']
  readonly ip: string
  /** Best first; 0 takes any free one. */
  readonly ports: NonEmpty<number>
  readonly allowedSources: readonly Cidr[]
  readonly pool: PoolSpec
}

export interface RoutePlan {
  readonly key: RouteKey
  readonly listeners: readonly PlannedListener[]
  /** Why this mode cannot serve the route at all. */
  readonly problem: string | undefined
}

export function planRoute(route: Route, node: NodeFacts, policy: ListenPolicy): RoutePlan {
  const { key, protocol } = route
  if (protocol === 'SCTP') return { key, listeners: [], problem: noSctp }
  const sources = allowedSources(route)
  const wanted = policy.kind === 'loopback' ? [loopbackPlace(route, policy.host)] : ownPlaces(route, node)
  const listeners = wanted.map((place) => ({
    id: `${route.family} ${key} ${place.name}`,
    purpose: place.purpose,
    protocol,
    ip: place.ip,
    ports: place.ports,
    allowedSources: place.purpose === 'load-balancer-ip' ? (sources ?? []) : [],
    pool: poolUnder(place.purpose === 'cluster-ip' ? route.internalPolicy : route.externalPolicy, route),
  }))
  return { key, listeners, problem: undefined }
}

export const noSctp = 'the userspace mode does not support SCTP; use nftables, iptables or ipvs for this Service'

interface Place {
  /** Unique within the route. */
  readonly name: string
  readonly purpose: Purpose
  readonly ip: string
  readonly ports: NonEmpty<number>
}

const lowestUnprivilegedPort = 1024

function loopbackPlace(route: Route, host = route.family === 'ipv6' ? '::1' : '127.0.0.1'): Place {
  const ports: number[] = []
  if (route.port >= lowestUnprivilegedPort) ports.push(route.port)
  if (route.nodePort !== 0) ports.push(route.nodePort)
  const [best, ...others] = [...ports, 0] as const
  // With the port in its name, a Service that changes its port gets a new listener.
  return { name: `loopback ${host} ${route.port}`, purpose: 'cluster-ip', ip: host, ports: [best, ...others] }
}

function ownPlaces(route: Route, node: NodeFacts): readonly Place[] {
  // Where nobody may come, nothing needs to listen.
  const loadBalancerIPs = allowedSources(route)?.length === 0 ? [] : route.loadBalancerIPs
  const places = [
    place('cluster-ip', route.clusterIP, route.port),
    ...route.externalIPs.map((ip) => place('external-ip', ip, route.port)),
    ...loadBalancerIPs.map((ip) => place('load-balancer-ip', ip, route.port)),
    ...(route.nodePort === 0 ? [] : [place('node-port', node.ip, route.nodePort)]),
  ]
  // One Service may list an address twice; the first purpose has it.
  const seen = new Set<string>()
  return places.filter(({ ip, ports }) => {
    const address = `${ip} ${ports[0]}`
    if (seen.has(address)) return false
    seen.add(address)
    return true
  })
}

function place(purpose: Purpose, ip: string, port: number): Place {
  return { name: `${purpose} ${ip} ${port}`, purpose, ip, ports: [port] }
}

/**
 * Undefined means everybody, an empty list nobody. When the ranges contain this node, it may also come from the
 * load-balancer addresses it holds itself.
 */
export function allowedSources(route: Route): readonly Cidr[] | undefined {
  if (route.sourceRanges === undefined) return undefined
  const texts = [...route.sourceRanges]
  if (route.sourceRangesCoverNode)
    for (const ip of route.loadBalancerIPs) texts.push(`${ip}/${route.family === 'ipv6' ? 128 : 32}`)
  return texts.map(parseCidr).filter((range) => range !== undefined)
}

/** Addresses under the same policy share a pool, and so a client's affinity. */
export function poolUnder(
  policy: TrafficPolicy,
  route: Route,
  isTransparent: (endpoint: Endpoint) => boolean = () => false,
): PoolSpec {
  const outcome = outcomeUnder(policy, route)
  const { clientAddress: _, ...wishes } = route.relaying ?? {}
  const pooled = (endpoint: Endpoint): PoolEndpoint => {
    const { ip, port } = endpoint
    return isTransparent(endpoint) ? { ip, port, isTransparent: true } : { ip, port }
  }
  return {
    id: `${route.family} ${route.key} ${policy}`,
    service: routeName(route),
    endpoints: outcome.kind === 'forward' ? outcome.to.map(pooled) : [],
    affinitySeconds: route.affinitySeconds,
    whenEmpty: whenEmpty[outcome.kind],
    ...wishes,
  }
}

/** A socket cannot leave a connection request unanswered as the kernel modes do; closing at once comes nearest. */
const whenEmpty: Readonly<Record<Outcome['kind'], PoolSpec['whenEmpty']>> = {
  forward: 'refuse',
  reject: 'refuse',
  drop: 'close',
}
