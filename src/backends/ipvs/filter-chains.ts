/** The chains of the filter table: who may reach a Service address, and what else may reach it. */
import { forwardChain } from '../../dataplane/iptables/language/masquerade-chains.ts'
import type { Chain, Rule } from '../../dataplane/iptables/language/rule.ts'
import { jump } from '../../dataplane/iptables/language/rule.ts'
import { noCounters } from '../../dataplane/iptables/language/counters.ts'
import { explainedSet, inSet } from './chain-context.ts'
import type { ChainContext } from './chain-context.ts'
import { ipvsChains } from './top-chains.ts'

/** All but filter/KUBE-IPVS-OUT-FILTER, which holds rules of Services. */
export function filterChains(context: ChainContext): readonly Chain[] {
  return [
    forwardChain({ ...context.settings, dropsInvalid: false, counters: noCounters }),
    {
      name: ipvsChains.nodePort,
      rules: [{ matches: explainedSet(context, 'healthCheckNodePort', 'dst'), target: { kind: 'accept' } }],
    },
    { name: ipvsChains.proxyFirewall, rules: proxyFirewallRules(context) },
    { name: ipvsChains.sourceRanges, rules: sourceRangesRules(context) },
    { name: ipvsChains.access, rules: accessRules(context) },
  ]
}

function proxyFirewallRules(context: ChainContext): readonly Rule[] {
  if (!context.isFilled('loadBalancerFirewall')) return []
  return [{ matches: explainedSet(context, 'loadBalancerFirewall', 'dst,dst'), target: jump(ipvsChains.sourceRanges) }]
}

function sourceRangesRules(context: ChainContext): readonly Rule[] {
  const allowed = (['loadBalancerSourceCidr', 'loadBalancerSourceIp'] as const).filter((set) => context.isFilled(set))
  return [
    ...allowed.map((set): Rule => ({
      matches: explainedSet(context, set, 'dst,dst,src'),
      target: { kind: 'return' },
    })),
    { matches: [], target: { kind: 'drop' } },
  ]
}

/** The addresses of Services are addresses of this node, so whatever listens on all of them would answer there too. */
function accessRules(context: ChainContext): readonly Rule[] {
  const served = (['loadBalancer', 'clusterIp', 'externalIp', 'externalIpLocal'] as const).map((set) =>
    inSet(context, set, 'dst,dst'),
  )
  return [
    ...[...served, inSet(context, 'healthCheckNodePort', 'dst')].map((match): Rule => ({
      matches: [match],
      target: { kind: 'return' },
    })),
    {
      matches: [{ kind: 'connection-state', states: ['NEW'] }, inSet(context, 'ipvsIps', 'dst')],
      target: { kind: 'reject' },
    },
  ]
}
