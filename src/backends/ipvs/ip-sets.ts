/** The sets that rules ask: names, types and comments are kube-proxy's, so that each takes over from the other. */
import type { HashType, IpSet } from '../../dataplane/ipset/ipset.ts'
import type { Family } from '../../net/ip.ts'

export type SetId = keyof typeof ipSets

/**
 * In the order to fill them: an address is refused to strangers (`loadBalancerFirewall`, `ipvsIps`) once all that may
 * reach it is in place.
 */
export const ipSets = {
  loopBack: {
    name: 'KUBE-LOOP-BACK',
    type: 'hash:ip,port,ip',
    comment: 'Kubernetes endpoints dst ip:port, source ip for solving hairpin purpose',
  },
  clusterIp: {
    name: 'KUBE-CLUSTER-IP',
    type: 'hash:ip,port',
    comment: 'Kubernetes service cluster ip + port for masquerade purpose',
  },
  externalIp: {
    name: 'KUBE-EXTERNAL-IP',
    type: 'hash:ip,port',
    comment: 'Kubernetes service external ip + port for masquerade and filter purpose',
  },
  externalIpLocal: {
    name: 'KUBE-EXTERNAL-IP-LOCAL',
    type: 'hash:ip,port',
    comment: 'Kubernetes service external ip + port with externalTrafficPolicy=local',
  },
  loadBalancer: { name: 'KUBE-LOAD-BALANCER', type: 'hash:ip,port', comment: 'Kubernetes service lb portal' },
  loadBalancerLocal: {
    name: 'KUBE-LOAD-BALANCER-LOCAL',
    type: 'hash:ip,port',
    comment: 'Kubernetes service load balancer ip + port with externalTrafficPolicy=local',
  },
  loadBalancerSourceIp: {
    name: 'KUBE-LOAD-BALANCER-SOURCE-IP',
    type: 'hash:ip,port,ip',
    comment: 'Kubernetes service load balancer ip + port + source IP for packet filter purpose',
  },
  loadBalancerSourceCidr: {
    name: 'KUBE-LOAD-BALANCER-SOURCE-CIDR',
    type: 'hash:ip,port,net',
    comment: 'Kubernetes service load balancer ip + port + source cidr for packet filter purpose',
  },
  loadBalancerFirewall: {
    name: 'KUBE-LOAD-BALANCER-FW',
    type: 'hash:ip,port',
    comment: 'Kubernetes service load balancer ip + port for load balancer with sourceRange',
  },
  nodePortTcp: {
    name: 'KUBE-NODE-PORT-TCP',
    type: 'bitmap:port',
    comment: 'Kubernetes nodeport TCP port for masquerade purpose',
  },
  nodePortLocalTcp: {
    name: 'KUBE-NODE-PORT-LOCAL-TCP',
    type: 'bitmap:port',
    comment: 'Kubernetes nodeport TCP port with externalTrafficPolicy=local',
  },
  nodePortUdp: {
    name: 'KUBE-NODE-PORT-UDP',
    type: 'bitmap:port',
    comment: 'Kubernetes nodeport UDP port for masquerade purpose',
  },
  nodePortLocalUdp: {
    name: 'KUBE-NODE-PORT-LOCAL-UDP',
    type: 'bitmap:port',
    comment: 'Kubernetes nodeport UDP port with externalTrafficPolicy=local',
  },
  // The bitmap of ports knows no SCTP.
  nodePortSctp: {
    name: 'KUBE-NODE-PORT-SCTP-HASH',
    type: 'hash:ip,port',
    comment: "Kubernetes nodeport SCTP port for masquerade purpose with type 'hash ip:port'",
  },
  nodePortLocalSctp: {
    name: 'KUBE-NODE-PORT-LOCAL-SCTP-HASH',
    type: 'hash:ip,port',
    comment: "Kubernetes nodeport SCTP port with externalTrafficPolicy=local with type 'hash ip:port'",
  },
  healthCheckNodePort: {
    name: 'KUBE-HEALTH-CHECK-NODE-PORT',
    type: 'bitmap:port',
    comment: 'Kubernetes health check node port',
  },
  ipvsIps: { name: 'KUBE-IPVS-IPS', type: 'hash:ip', comment: 'Addresses on the ipvs interface' },
} as const satisfies Readonly<Record<string, SetKind>>

interface SetKind {
  readonly name: string
  readonly type: HashType | 'bitmap:port'
  /** Stands in the rules that ask the set, not in the set itself. */
  readonly comment: string
}

export const setIds = Object.keys(ipSets) as readonly SetId[]

export function eachSet<T>(make: (id: SetId) => T): Record<SetId, T> {
  return Object.fromEntries(setIds.map((id) => [id, make(id)])) as Record<SetId, T>
}

/** The kernel takes 31 bytes for a name, so two of the IPv6 names are cut. */
export function setName(id: SetId, family: Family): string {
  const { name } = ipSets[id]
  return family === 'ipv4' ? name : name.replace('KUBE-', 'KUBE-6-').slice(0, 31)
}

export function ipSetOf(id: SetId, family: Family): IpSet {
  const { type } = ipSets[id]
  const name = setName(id, family)
  return type === 'bitmap:port' ? { name, type } : { name, type, family }
}
