/**
 * The Host Compute Network of Windows, in its own words: networks, endpoints and load balancers that the Host Networking
 * Service (HNS) keeps. It holds no word of Services.
 */

export interface HnsVersion {
  readonly major: number
  readonly minor: number
}

export interface HcnNetwork {
  readonly id: string
  readonly name: string
  /** As HNS writes it: `Overlay`, `L2Bridge`, …; `NAT` when it says nothing. */
  readonly type: string
  readonly remoteSubnets: readonly RemoteSubnet[]
}

/** Pods of another node, and the address of the node that has them. */
export interface RemoteSubnet {
  readonly prefix: string
  readonly providerAddress: string
  readonly isolationId: number
  readonly routerMac: string
}

export interface HcnEndpoint {
  readonly id: string
  readonly name: string
  readonly networkId: string
  /** In the order of HNS; canonical text. Empty for an endpoint without an address. */
  readonly ips: readonly string[]
  readonly mac: string
  /** Somewhere else; HNS only knows where. Those of pods on this node are local, and belong to the CNI. */
  readonly isRemote: boolean
  /** The node that has the address, in an overlay network; undefined where HNS does not tell. */
  readonly providerAddress: string | undefined
}

export interface EndpointSettings {
  readonly ip: string
  readonly mac: string
  readonly isRemote: boolean
  /** The node that has the address, in an overlay network. */
  readonly providerAddress: string | undefined
}

/** Its frontend is VIP, protocol, external port and family; no two load balancers can have the same. */
export interface LoadBalancerSettings {
  /** Ids of HNS endpoints. */
  readonly endpoints: readonly string[]
  readonly sourceVip: string | undefined
  /** Undefined: every address of the host. */
  readonly vip: string | undefined
  /** IANA number: 6, 17, 132. */
  readonly protocol: number
  readonly internalPort: number
  readonly externalPort: number
  /** Clients stay with their endpoint. */
  readonly isSticky: boolean
  readonly mappingFlags: number
  readonly flags: number
}

export interface LoadBalancer extends LoadBalancerSettings {
  readonly id: string
}

/** Bits of `LoadBalancerSettings.flags`. */
export const loadBalancerFlags = { dsr: 1, ipv6: 2 } as const
/** Bits of `LoadBalancerSettings.mappingFlags`. */
export const mappingFlags = { localRoutedVip: 2, useMux: 4, preserveDip: 8, vipExternalIp: 16 } as const

/** A load balancer as the old API lists it, all of them in one call; it does not tell everything. */
export interface LoadBalancerSummary {
  readonly id: string
  readonly endpoints: readonly string[]
  readonly vip: string | undefined
  readonly protocol: number
  readonly internalPort: number
  readonly externalPort: number
  readonly sourceVip: string | undefined
  readonly isDsr: boolean
  /** HNS can no longer forward with it. */
  readonly isDegraded: boolean
}

/** Ids are lower-case GUIDs. Calls are done one after the other, in the order in which they were made. */
export interface Hcn {
  version(signal: AbortSignal): Promise<HnsVersion>
  networkNamed(name: string, signal: AbortSignal): Promise<HcnNetwork | undefined>

  /** One call, however many there are. */
  endpointIds(networkId: string, signal: AbortSignal): Promise<readonly string[]>
  /** Undefined: it is gone. */
  endpoint(id: string, signal: AbortSignal): Promise<HcnEndpoint | undefined>
  endpointNamed(name: string, signal: AbortSignal): Promise<HcnEndpoint | undefined>
  createEndpoint(networkId: string, settings: EndpointSettings, signal: AbortSignal): Promise<HcnEndpoint>
  /** Done, too, when it was gone before; then the answer is false. */
  deleteEndpoint(id: string, signal: AbortSignal): Promise<boolean>

  /** One call, however many there are. */
  loadBalancerIds(signal: AbortSignal): Promise<readonly string[]>
  /** Undefined: it is gone, or has no port mapping. */
  loadBalancer(id: string, signal: AbortSignal): Promise<LoadBalancer | undefined>
  /** Three calls for each. Objects without a port mapping, which a failed create may leave, are not in it. */
  loadBalancers(signal: AbortSignal): Promise<readonly LoadBalancer[]>
  /** One call, however many there are. */
  loadBalancerSummaries(signal: AbortSignal): Promise<readonly LoadBalancerSummary[]>
  /** Returns its id. */
  createLoadBalancer(settings: LoadBalancerSettings, signal: AbortSignal): Promise<string>
  /**
   * Asks HNS to replace everything but the id, and returns what it has then: some take a change and do not make it, or only
   * in part. Undefined: it has no port mapping.
   */
  modifyLoadBalancer(id: string, settings: LoadBalancerSettings, signal: AbortSignal): Promise<LoadBalancer | undefined>
  /** Done, too, when it was gone before; then the answer is false. */
  deleteLoadBalancer(id: string, signal: AbortSignal): Promise<boolean>
}

export type HcnReason =
  /** The network, or an endpoint that a load balancer names. */
  | 'not-found'
  /** The same object is there already. */
  | 'already-exists'
  /** Somebody else has the frontend, or the port on the host. */
  | 'port-already-exists'
  /** This HNS cannot do it. */
  | 'not-implemented'
  /** HNS works, and does not take this. */
  | 'refused'
  /** HNS does not answer, or not as it should: it is starting, or broken. */
  | 'unavailable'
  | 'timed-out'
  /** The library or one of its functions is not on this machine. */
  | 'missing'

export class HcnError extends Error {
  override readonly name = 'HcnError'
  readonly reason: HcnReason
  /** What HNS returned, unsigned; 0 where nobody asked HNS. */
  readonly hresult: number

  constructor(reason: HcnReason, message: string, options?: ErrorOptions & { readonly hresult?: number }) {
    super(message, options)
    this.reason = reason
    this.hresult = options?.hresult ?? 0
  }
}
