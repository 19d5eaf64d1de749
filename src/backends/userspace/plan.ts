/** Where to listen for a route, and who serves behind each address. Pure: what the machine allows shows when listening. */
import type { NodeFacts } from '../../core/backend.ts'
import { routeName } from '../../core/route.ts'
import type { AllowedSources, Endpoint, Entrance, NonEmpty, Outcome, Route, RouteKey } from '../../core/route.ts'
import type { KeptClients, ListenerSpec, PoolEndpoint, PoolSpec } from '../../dataplane/relay/relay.ts'
import { loopbackIps, parseCidr } from '../../net/ip.ts'
import type { Cidr } from '../../net/ip.ts'

/** Which addresses the routes are served at. */
export type ListenPolicy =
  /**
   * The Service's own: they must be addresses of this machine (in 127.0.0.0/8 all are, on Linux). Node ports are open on
   * the node's address, unless others are given.
   */
  | { readonly kind: 'service-addresses'; readonly nodePortIps?: readonly string[] }
  /** One loopback address for everything, each route at a port of its own: laptops and the demo. */
  | { readonly kind: 'loopback'; readonly host?: string }
  /** Node ports on loopback and nothing else: beside a mode that has them on other addresses only. */
  | { readonly kind: 'localhost-node-ports' }

export type Purpose =
  | Entrance['kind']
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
  readonly keeps?: KeptClients
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
  if (protocol === 'SCTP') {
    const isServedOtherwise = policy.kind === 'localhost-node-ports'
    return { key, listeners: [], problem: isServedOtherwise ? undefined : noSctp }
  }
  const wanted = placesUnder(policy, route, node)
  const listeners = wanted.map(({ name, purpose, ip, ports, allowedSources, outcome }) => ({
    id: `${route.family} ${key} ${name}`,
    purpose,
    protocol,
    ip,
    ports,
    allowedSources,
    // Their own: the mode beside them may use the same relay.
    pool: policy.kind === 'localhost-node-ports' ? ownPool(poolFor(outcome, route)) : poolFor(outcome, route),
  }))
  return { key, listeners, problem: undefined }
}

export const noSctp = 'the userspace mode does not support SCTP; use nftables, iptables or ipvs for this Service'

interface Place extends Pick<PlannedListener, 'purpose' | 'ip' | 'ports' | 'allowedSources'> {
  /** Unique within the route. */
  readonly name: string
  readonly outcome: Outcome
}

function placesUnder(policy: ListenPolicy, route: Route, node: NodeFacts): readonly Place[] {
  switch (policy.kind) {
    case 'loopback':
      return [loopbackPlace(route, policy.host)]
    case 'service-addresses':
      return ownPlaces(route, policy.nodePortIps ?? [node.ip])
    case 'localhost-node-ports':
      return localhostPlaces(route)
    default:
      return policy satisfies never
  }
}

/** Whoever connects there is on this node. */
function localhostPlaces({ entrances, family }: Route): readonly Place[] {
  const ip = loopbackIps[family]
  return entrances.flatMap(({ kind, port, inside }) =>
    kind === 'node-port'
      ? [{ name: `localhost ${port}`, purpose: kind, ip, ports: [port], allowedSources: [], outcome: inside } as const]
      : [],
  )
}

function ownPool(pool: PoolSpec): PoolSpec {
  return { ...pool, id: `${pool.id} localhost` }
}

const lowestUnprivilegedPort = 1024

function loopbackPlace(route: Route, host = loopbackIps[route.family]): Place {
  const { port, entrances, internal } = route
  const ports = entrances.filter(({ kind }) => kind === 'node-port').map((entrance) => entrance.port)
  if (port >= lowestUnprivilegedPort) ports.unshift(port)
  const [best, ...others] = [...ports, 0] as const
  return {
    // With the port in its name, a Service that changes its port gets a new listener.
    name: `loopback ${host} ${port}`,
    purpose: 'cluster-ip',
    ip: host,
    ports: [best, ...others],
    allowedSources: [],
    outcome: internal.outside,
  }
}

function ownPlaces(route: Route, nodePortIps: readonly string[]): readonly Place[] {
  const placesByAddress = new Map<string, Place>()
  for (const entrance of route.entrances) {
    const { kind, port, allowed, outside } = entrance
    const allowedSources = allowed === undefined ? undefined : cidrsOf(allowed)
    // Where nobody may come, nothing needs to listen.
    if (allowedSources?.length === 0) continue
    for (const ip of kind === 'node-port' ? nodePortIps : [entrance.ip]) {
      const address = `${ip} ${port}`
      // One Service may list an address twice; the first purpose has it.
      if (placesByAddress.has(address)) continue
      placesByAddress.set(address, {
        name: `${kind} ${address}`,
        purpose: kind,
        ip,
        ports: [port],
        allowedSources: allowedSources ?? [],
        outcome: outside,
      })
    }
  }
  return [...placesByAddress.values()]
}

export function cidrsOf({ ranges, ownAddresses }: AllowedSources): readonly Cidr[] {
  const own = ownAddresses.map((ip) => `${ip}/${ip.includes(':') ? 128 : 32}`)
  return [...ranges, ...own].map(parseCidr).filter((range) => range !== undefined)
}

/** Entrances under the same policy share a pool, and so a client's affinity. */
export function poolFor(
  outcome: Outcome,
  route: Route,
  isHere: (endpoint: Endpoint) => boolean = () => false,
): PoolSpec {
  const { proxyProtocol } = route.relaying ?? {}
  const { algorithm: balancing, maxConnectionAgeMs } = route.traffic ?? {}
  const to = outcome.kind === 'forward' ? outcome.to : []
  const isEven = to.every(({ weight }) => weight === to[0]?.weight)
  const pooled = (endpoint: Endpoint): PoolEndpoint => {
    const { ip, port, weight } = endpoint
    return { ip, port, ...(isHere(endpoint) && { isHere: true }), ...(!isEven && { weight }) }
  }
  return {
    id: `${route.family} ${route.key} ${outcome.policy}`,
    service: routeName(route),
    endpoints: to.map(pooled),
    affinitySeconds: route.affinitySeconds ?? 0,
    whenEmpty: whenEmpty[outcome.kind],
    ...(balancing !== undefined && balancing !== 'round-robin' && { balancing }),
    ...(proxyProtocol !== undefined && { proxyProtocol }),
    ...(maxConnectionAgeMs !== undefined && { maxConnectionAgeMs }),
    ...limitsOf(route),
  }
}

/** All ways into the Service port count together. */
function limitsOf({ traffic, family, key }: Route): Pick<PoolSpec, 'limits'> {
  if (traffic === undefined) return {}
  const { maxConnections, maxConnectionsPerEndpoint, maxDialsPerSecond, maxDialsPerSecondPerEndpoint } = traffic
  const limits = {
    ...(maxConnections !== undefined && { connections: maxConnections }),
    ...(maxConnectionsPerEndpoint !== undefined && { connectionsPerEndpoint: maxConnectionsPerEndpoint }),
    ...(maxDialsPerSecond !== undefined && { dialsPerSecond: maxDialsPerSecond }),
    ...(maxDialsPerSecondPerEndpoint !== undefined && { dialsPerSecondPerEndpoint: maxDialsPerSecondPerEndpoint }),
  }
  return Object.keys(limits).length === 0 ? {} : { limits: { sharedAs: `${family}/${key}`, ...limits } }
}

/** A socket cannot leave a connection request unanswered as the kernel modes do; closing at once comes nearest. */
const whenEmpty: Readonly<Record<Outcome['kind'], PoolSpec['whenEmpty']>> = {
  forward: 'refuse',
  reject: 'refuse',
  drop: 'close',
}
