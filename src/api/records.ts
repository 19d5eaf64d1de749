/**
 * The Kubernetes objects that Fairlead reads, as its own records: parsed once (see parse.ts), canonical, defaulted,
 * plain data. They hold only what a decision needs, so 10,000 Services stay small in memory. They survive
 * `JSON.stringify`, so the saved state is simply a list of them.
 */
import type { Cidr, Family } from '../net/ip.ts'

export type Protocol = 'TCP' | 'UDP' | 'SCTP'

export type TrafficPolicy = 'Cluster' | 'Local'

export interface ServicePort {
  readonly name: string
  readonly protocol: Protocol
  readonly port: number
  /** 0: none. */
  readonly nodePort: number
}

export interface ServiceRecord {
  readonly kind: 'Service'
  readonly namespace: string
  readonly name: string
  /** When it was created (Unix milliseconds): of two Services that want the same address, the older one gets it. */
  readonly createdAtMs?: number
  readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName'
  /** Empty for headless, ExternalName and unallocated Services. */
  readonly clusterIPs: Readonly<Partial<Record<Family, string>>>
  readonly ports: readonly ServicePort[]
  /** Canonical addresses of both families, in the order of the object. */
  readonly externalIPs: readonly string[]
  /** Ingress addresses of the status that nodes serve. */
  readonly loadBalancerIPs: readonly string[]
  /** Those that nodes do not touch, so that the load balancer itself sees the traffic. */
  readonly leftToLoadBalancer?: LeftToLoadBalancer
  readonly sourceRanges: readonly Cidr[]
  /** Some range could not be read. It allows nobody, so that the load balancer is not open to everybody by mistake. */
  readonly hasUnreadableSourceRange?: true
  /** 0: no client-IP affinity. */
  readonly affinitySeconds: number
  readonly externalTrafficPolicy: TrafficPolicy
  readonly internalTrafficPolicy: TrafficPolicy
  readonly healthCheckNodePort: number
  readonly traffic?: TrafficWishes
  readonly relaying?: Relaying
  readonly sockets?: SocketWishes
  readonly windows?: WindowsWishes
}

/** How an endpoint is chosen for a new connection. */
export const algorithms = ['random', 'round-robin', 'least-connections', 'source-hash', 'maglev'] as const

export type Algorithm = (typeof algorithms)[number]

/** By the names that the kernel has for them. */
export const ipvsSchedulers = ['rr', 'wrr', 'lc', 'wlc', 'lblc', 'lblcr', 'sh', 'dh', 'mh', 'sed', 'nq'] as const

export type IpvsScheduler = (typeof ipvsSchedulers)[number]

/** How a Service wants its connections spread and limited. What a mode cannot do of it is refused, with a notice. */
export interface TrafficWishes {
  /** By default as the mode does it. */
  readonly algorithm?: Algorithm
  /** For the one mode that has them, where it counts more than the algorithm. */
  readonly ipvsScheduler?: IpvsScheduler
  readonly weights?: WeightRules
  /** How long a new endpoint takes to get its full share. */
  readonly slowStartMs?: number
  /** How old a connection may become before it is moved gently. */
  readonly maxConnectionAgeMs?: number
  /** Open at the same time, on this node. */
  readonly maxConnections?: number
  readonly maxConnectionsPerEndpoint?: number
  /** New ones, on this node. */
  readonly maxDialsPerSecond?: number
  readonly maxDialsPerSecondPerEndpoint?: number
  readonly healthCheck?: HealthCheck
  /** Ports of the addresses that lead to the same ports of the endpoints. Some port of the Service is among them. */
  readonly portRange?: PortRange
}

export interface PortRange {
  readonly first: number
  readonly last: number
}

/** The first rule that an endpoint fits counts. */
export type WeightRules = readonly WeightRule[]

/** `every` fits all endpoints, and has no name. */
export interface WeightRule {
  readonly of: 'zone' | 'node' | 'ip' | 'every'
  readonly name: string
  /** 0: no new connections. */
  readonly weight: number
}

export type HealthCheck = { readonly kind: 'tcp' } | { readonly kind: 'http'; readonly path: string }

export interface LeftToLoadBalancer {
  readonly ips: readonly string[]
  /** The status says `ipMode: Proxy`, or the annotation `fairlead.dev/load-balancer-hairpin` says `through`. */
  readonly because: 'ipMode' | 'hairpin'
}

/** Only a mode that carries the bytes itself can do these; others ignore them. */
export interface Relaying {
  /** The header that tells endpoints the client's address. */
  readonly proxyProtocol?: 'v1' | 'v2'
  /**
   * Endpoints see the node's address, or the client's own wherever its answers come past this node. By default they see
   * what they would see in a kernel mode.
   */
  readonly clientAddress?: 'node' | 'transparent'
}

/** Only a mode that works at the sockets of clients can do these; others ignore them. */
export interface SocketWishes {
  /** By default a socket is connected to an endpoint before it sends. Off: packets are translated, as for clients elsewhere. */
  readonly balancing?: 'off'
}

/** Only the kernelspace mode can do these; others ignore them. */
export interface WindowsWishes {
  /** Endpoints see the address that the client asked for, and are on this node. */
  readonly preservesDestination?: true
  /** Every change of endpoints makes the load balancers anew, instead of changing them in place. */
  readonly rebuilds?: true
}

export interface SlicePort {
  readonly name: string
  readonly protocol: Protocol
  readonly port: number
}

export interface SliceEndpoint {
  readonly ip: string
  readonly nodeName: string
  readonly ready: boolean
  readonly serving: boolean
  readonly terminating: boolean
  /** Where it is, for people: hints decide who uses it. */
  readonly zone?: string
  /** Both are empty if the slice has no hints. */
  readonly zoneHints: readonly string[]
  readonly nodeHints: readonly string[]
}

export interface SliceRecord {
  readonly kind: 'EndpointSlice'
  readonly namespace: string
  readonly name: string
  /** In the same namespace. */
  readonly serviceName: string
  readonly family: Family
  readonly ports: readonly SlicePort[]
  readonly endpoints: readonly SliceEndpoint[]
  /** These come before those of the Service. */
  readonly weights?: WeightRules
  /** When the change behind this version happened (Unix milliseconds), if the controller said so. */
  readonly triggerTimeMs: number | undefined
}

export interface NodeRecord {
  readonly kind: 'Node'
  readonly name: string
  /** Usable addresses: the primary, then the first of the other family. */
  readonly ips: readonly string[]
  /** Further addresses, at which traffic may also arrive. */
  readonly otherIps?: readonly string[]
  readonly podCIDRs: readonly string[]
  /** From the label topology.kubernetes.io/zone; empty if absent. */
  readonly zone: string
  readonly isBeingDeleted: boolean
  readonly taintKeys: readonly string[]
}

export interface ServiceCidrRecord {
  readonly kind: 'ServiceCIDR'
  readonly name: string
  readonly cidrs: readonly Cidr[]
}

/** What becomes of an external or load-balancer IP that belongs to the cluster or to another namespace. */
export const guardModes = ['warn', 'deny', 'off'] as const

/** How the addresses that Services of a namespace name are guarded, where that differs from the rest of the cluster. */
export interface NamespaceRecord {
  readonly kind: 'Namespace'
  readonly name: string
  readonly externalIPGuard?: (typeof guardModes)[number]
  /** External IPs outside of these get nothing; empty: none is allowed. */
  readonly externalIPCidrs?: readonly Cidr[]
}

export type ObjectRecord = ServiceRecord | SliceRecord | NodeRecord | ServiceCidrRecord | NamespaceRecord

export type ObjectKind = ObjectRecord['kind']

export const objectKinds = [
  'Service',
  'EndpointSlice',
  'Node',
  'ServiceCIDR',
  'Namespace',
] as const satisfies readonly ObjectKind[]

export type RecordOf<K extends ObjectKind> = Extract<ObjectRecord, { kind: K }>

/** `namespace/name`, or `name` for cluster-scoped kinds: unique within its kind. */
export type ObjectKey = string & { readonly brand: 'ObjectKey' }

export function objectKey(name: { readonly namespace?: string; readonly name: string }): ObjectKey {
  return (name.namespace === undefined ? name.name : `${name.namespace}/${name.name}`) as ObjectKey
}

/** One thing that is wrong with an object, worded for its author. */
export interface Problem {
  readonly kind: ObjectKind
  readonly key: ObjectKey
  /** JSON path of the field, e.g. `spec.externalIPs[1]`. */
  readonly field: string
  readonly reason: string
}

/** A record (without the parts that had to be dropped), or only problems. */
export type Parsed<R extends ObjectRecord> =
  | {
      readonly ok: true
      readonly record: R
      readonly problems: readonly Problem[]
      /** Not in the record: a version that changes nothing else is no news. Absent where the source has none. */
      readonly resourceVersion?: string
    }
  | { readonly ok: false; readonly key: ObjectKey | undefined; readonly problems: readonly Problem[] }
