/** The chains of this mode, and the jumps that lead to them from the kernel's own. Some names are those of iptables mode. */
import type { Match } from '../../dataplane/iptables/language/rule.ts'
import { comment, jump } from '../../dataplane/iptables/language/rule.ts'
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'
import type { Jump, Table } from '../../dataplane/iptables/language/kube-chains.ts'

export const ipvsChains = {
  services: topChains.services,
  postrouting: topChains.postrouting,
  markMasquerade: topChains.markMasquerade,
  forward: topChains.forward,
  proxyFirewall: topChains.proxyFirewall,
  nodePort: 'KUBE-NODE-PORT',
  loadBalancer: 'KUBE-LOAD-BALANCER',
  sourceRanges: 'KUBE-SOURCE-RANGES-FIREWALL',
  access: 'KUBE-IPVS-FILTER',
  out: 'KUBE-IPVS-OUT-FILTER',
} as const

/** Each is put on top of its chain, so a fresh chain holds them in reverse. */
export const ipvsJumps: readonly Jump[] = [
  to('nat', 'OUTPUT', ipvsChains.services, 'kubernetes service portals'),
  to('nat', 'PREROUTING', ipvsChains.services, 'kubernetes service portals'),
  to('nat', 'POSTROUTING', ipvsChains.postrouting, 'kubernetes postrouting rules'),
  to('filter', 'FORWARD', ipvsChains.forward, 'kubernetes forwarding rules'),
  to('filter', 'INPUT', ipvsChains.nodePort, 'kubernetes health check rules'),
  to('filter', 'INPUT', ipvsChains.proxyFirewall, 'kube-proxy firewall rules'),
  to('filter', 'FORWARD', ipvsChains.proxyFirewall, 'kube-proxy firewall rules'),
  to('filter', 'INPUT', ipvsChains.access, 'kubernetes ipvs access filter'),
  to('filter', 'OUTPUT', ipvsChains.out, 'kubernetes ipvs access filter'),
]

function to(table: Table, from: string, chain: string, note: string): Jump {
  const matches: readonly Match[] = [comment(note)]
  return { table, from, rule: { matches, target: jump(chain) } }
}
