/** The chains that every Service shares, and the jumps that lead to them from the kernel's own chains. */
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'
import type { Jump, Table } from '../../dataplane/iptables/language/kube-chains.ts'
import { comment, jump } from '../../dataplane/iptables/language/rule.ts'
import type { Match } from '../../dataplane/iptables/language/rule.ts'

/** Chains that hold rules of every Service, and no others but the last ones of nat/KUBE-SERVICES. */
export const sharedChains: readonly { readonly table: Table; readonly chain: string }[] = [
  { table: 'filter', chain: topChains.services },
  { table: 'filter', chain: topChains.externalServices },
  { table: 'filter', chain: topChains.nodePorts },
  { table: 'filter', chain: topChains.proxyFirewall },
  { table: 'nat', chain: topChains.services },
  { table: 'nat', chain: topChains.nodePorts },
]

/** Each of these tables has an empty chain of ours; kube-proxy takes its absence for a flush by others. */
export const canaryTables = ['mangle', 'filter', 'nat'] as const

const isNew: Match = { kind: 'connection-state', states: ['NEW'] }
const external = [isNew, comment('kubernetes externally-visible service portals')]
const services = [isNew, comment('kubernetes service portals')]
const firewall = [isNew, comment('kubernetes load balancer firewall')]

/** Each is put on top of its chain, so a fresh chain holds them in reverse. */
export const jumps: readonly Jump[] = [
  to('filter', 'INPUT', topChains.externalServices, external),
  to('filter', 'FORWARD', topChains.externalServices, external),
  to('filter', 'INPUT', topChains.nodePorts, [comment('kubernetes health check service ports')]),
  to('filter', 'FORWARD', topChains.services, services),
  to('filter', 'OUTPUT', topChains.services, services),
  to('filter', 'FORWARD', topChains.forward, [comment('kubernetes forwarding rules')]),
  to('filter', 'INPUT', topChains.proxyFirewall, firewall),
  to('filter', 'OUTPUT', topChains.proxyFirewall, firewall),
  to('filter', 'FORWARD', topChains.proxyFirewall, firewall),
  to('nat', 'OUTPUT', topChains.services, [comment('kubernetes service portals')]),
  to('nat', 'PREROUTING', topChains.services, [comment('kubernetes service portals')]),
  to('nat', 'POSTROUTING', topChains.postrouting, [comment('kubernetes postrouting rules')]),
  // The kubelet makes these two as well, and neither adds what is already there.
  to('filter', 'INPUT', topChains.firewall, []),
  to('filter', 'OUTPUT', topChains.firewall, []),
]

function to(table: Table, from: string, chain: string, matches: readonly Match[]): Jump {
  return { table, from, rule: { matches, target: jump(chain) } }
}
