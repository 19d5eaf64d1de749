/** Where to listen for a route, and who serves behind each address. Pure: what the machine allows shows when listening. */
import type { NodeFacts } from '../../core/backend.ts'
import { routeName } from '../../core/route.ts'
import type { AllowedSources, Endpoint, Entrance, NonEmpty, Outcome, Route, RouteKey } from '../../core/route.ts'
import type { KeptClients, ListenerSpec, PoolEndpoint, PoolSpec } from '../../dataplane/relay/relay.ts'
import { parseCidr } from '../../net/ip.ts'
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
  if (protocol === 'SCTP') return { key, listeners: [], problem: noSctp }
  const wanted =
    policy.kind === 'loopback' ? [loopbackPlace(route, policy.host)] : ownPlaces(route, policy.nodePortIps ?? [node.ip])
  const listeners = wanted.map(({ name, purpose, ip, ports, allowedSources, outcome }) => ({
    id: `${route.family} ${key} ${name}`,
    purpose,
    protocol,
    ip,
    ports,
    allowedSources,
    pool: poolFor(outcome, route),
  }))
  return { key, listeners, problem: undefined }
}

export const noSctp = 'the userspace mode does not support SCTP; use nftables, iptables or ipvs for this Service'

interface Place extends Pick<PlannedListener, 'purpose' | 'ip' | 'ports' | 'allowedSources'> {
  /** Unique within the route. */
  readonly name: string
  readonly outcome: Outcome
}

const lowestUnprivilegedPort = 1024

function loopbackPlace(route: Route, host = route.family === 'ipv6' ? '::1' : '127.0.0.1'): Place {
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
  const { clientAddress: _, ...wishes } = route.relaying ?? {}
  const pooled = (endpoint: Endpoint): PoolEndpoint => {
    const { ip, port } = endpoint
    return isHere(endpoint) ? { ip, port, isHere: true } : { ip, port }
  }
  return {
    id: `${route.family} ${route.key} ${outcome.policy}`,
    service: routeName(route),
    endpoints: outcome.kind === 'forward' ? outcome.to.map(pooled) : [],
    affinitySeconds: route.affinitySeconds ?? 0,
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
