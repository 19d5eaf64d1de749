/**
 * A Route says what happens to the traffic of one Service port, for one IP family, on this node. Backends see Routes and
 * nothing else: no Service object, no policy left to decide.
 */
import type {
  ObjectKey,
  Protocol,
  Relaying,
  SocketWishes,
  TrafficPolicy,
  TrafficWishes,
  WindowsWishes,
} from '../api/records.ts'
import type { Family } from '../net/ip.ts'

/** Identifies a Service port within a family: namespace, name, port name and protocol. */
export type RouteKey = string & { readonly brand: 'RouteKey' }

export function routeKey(namespace: string, name: string, portName: string, protocol: Protocol): RouteKey {
  return `${routeName({ namespace, name, portName })}/${protocol}` as RouteKey
}

/** `ns/name:port`, or `ns/name` for an unnamed port: how Kubernetes prints a Service port, and what kube-proxy hashes. */
export function routeName(route: Pick<Route, 'namespace' | 'name' | 'portName'>): string {
  const service = `${route.namespace}/${route.name}`
  return route.portName === '' ? service : `${service}:${route.portName}`
}

/** `ns/name` of `ns/name:port/TCP` or `ns/name/TCP`. */
export function serviceOfRoute(key: RouteKey): ObjectKey {
  const port = key.indexOf(':')
  return key.slice(0, port === -1 ? key.lastIndexOf('/') : port) as ObjectKey
}

export interface Endpoint {
  readonly ip: string
  readonly port: number
  /** `ip:port`, brackets around IPv6: unique within a Route. */
  readonly address: string
  readonly nodeName: string
  /** On this node. */
  readonly isLocal: boolean
  readonly ready: boolean
  readonly serving: boolean
  readonly terminating: boolean
  readonly zoneHints: readonly string[]
  readonly nodeHints: readonly string[]
  /**
   * How many new connections it gets, compared with others; 1 unless somebody says otherwise. One with 0 serves only where
   * all others have 0, too.
   */
  readonly weight: number
  /** This node has asked it in vain: it serves only where the others do not answer either. Absent for nearly every one. */
  readonly isUnreachable?: true
}

/** Which hints narrowed the cluster endpoints, if any. */
export type TopologyMode = 'none' | 'PreferSameNode' | 'PreferSameZone'

export type NonEmpty<T> = readonly [T, ...T[]]

/** What happens to a connection, after policy and health were looked at. */
export type Outcome =
  | { readonly kind: 'forward'; readonly policy: TrafficPolicy; readonly to: NonEmpty<Endpoint> }
  /** Nobody can serve: say so at once. */
  | { readonly kind: 'reject'; readonly policy: TrafficPolicy }
  /**
   * Others can, this node may not: the gap is likely short (a rollout, a load balancer that has not noticed). A dropped
   * SYN is sent again; a rejected one is final.
   */
  | { readonly kind: 'drop'; readonly policy: TrafficPolicy }

/** Sources that may use an entrance. Nobody, if both lists are empty. */
export interface AllowedSources {
  /** Canonical CIDRs. */
  readonly ranges: readonly string[]
  /**
   * A node that holds the address of the load balancer has that address as its source when it connects there. These are
   * those addresses, if the ranges contain this node.
   */
  readonly ownAddresses: readonly string[]
}

/** What happens to clients, by where they are. */
export interface Treatment {
  /** For pods on this node, and for the node itself. */
  readonly inside: Outcome
  /** For everybody else. */
  readonly outside: Outcome
  /**
   * Whose address the endpoints see; that of others is replaced by the node's. For `pods`, those on this node are meant;
   * `all-but-node` is everybody except the node itself.
   */
  readonly keepsSourceOf: 'nobody' | 'pods' | 'all-but-node'
}

interface SharedByEntrances extends Treatment {
  /** Undefined: everybody may come. */
  readonly allowed: AllowedSources | undefined
}

export interface AddressEntrance extends SharedByEntrances {
  readonly kind: 'cluster-ip' | 'external-ip' | 'load-balancer-ip'
  readonly ip: string
  readonly port: number
}

/** Every port of an address from `port` to `lastPort`. Endpoints get a connection at the port that the client asked for. */
export interface RangeEntrance extends AddressEntrance {
  readonly lastPort: number
}

/** On addresses of the node. Which of them is the same for all Services, and a setting. */
export interface NodePortEntrance extends SharedByEntrances {
  readonly kind: 'node-port'
  readonly port: number
}

/** A place where clients reach a Service port. */
export type Entrance = AddressEntrance | NodePortEntrance

/** What is left of the wishes of a Service for a backend to do, or to know. */
export type GrantedTraffic = Omit<TrafficWishes, 'weights' | 'healthCheck' | 'portRange'>

/** How many connections a Service port may have or get is limited, or how long: whoever opens one must be known by it. */
export function hasLimits({ traffic }: Pick<Route, 'traffic'>): boolean {
  return [traffic?.maxConnections, traffic?.maxDialsPerSecond, traffic?.maxConnectionAgeMs].some(
    (limit) => limit !== undefined,
  )
}

export interface Route {
  readonly key: RouteKey
  readonly namespace: string
  readonly name: string
  readonly portName: string
  readonly protocol: Protocol
  readonly family: Family

  readonly clusterIP: string
  readonly port: number
  /**
   * The cluster IP first, then external IPs, load-balancer IPs and the node port. A Service may name an address twice: the
   * first one counts where a data plane has room for one, and both are equally restricted.
   */
  readonly entrances: NonEmpty<Entrance>
  /**
   * Further ports of the addresses, for a Service that wants a range of them. No entrance has one of these ports, nor has a
   * node port of the Service at an address of the node. Absent for nearly every Service.
   */
  readonly ranges?: readonly RangeEntrance[]
  /** At the cluster IP. */
  readonly internal: Treatment
  /** At all other entrances; undefined when there are none, not even external IPs that a feature gate hides. */
  readonly external: Treatment | undefined
  /** Of client-IP affinity. */
  readonly affinitySeconds: number | undefined
  /** Where load balancers ask whether this node has endpoints. */
  readonly healthCheckNodePort: number | undefined
  /** How the Service wants connections spread and limited: what the mode can do of it. Weights are those of the endpoints. */
  readonly traffic: GrantedTraffic | undefined
  /** Wishes that only the userspace mode can fulfil. */
  readonly relaying: Relaying | undefined
  /** Wishes that only a mode at the sockets of clients can fulfil. */
  readonly sockets: SocketWishes | undefined
  /** Wishes that only the kernelspace mode can fulfil. */
  readonly windows: WindowsWishes | undefined

  /** Everything the slices list, not ready ones included; sorted by address. */
  readonly endpoints: readonly Endpoint[]
  /** What traffic with policy Cluster may use. */
  readonly clusterEndpoints: readonly Endpoint[]
  /** What traffic with policy Local may use. */
  readonly localEndpoints: readonly Endpoint[]
  /** Union of both: the endpoints that need state in a data plane. */
  readonly reachableEndpoints: readonly Endpoint[]
  /** Some endpoint somewhere could serve, even if this node may not use it: the difference between drop and reject. */
  readonly hasUsableEndpoint: boolean
  readonly topology: TopologyMode
}
