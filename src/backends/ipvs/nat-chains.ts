/** The chains of the nat table: they choose what is masqueraded. Where connections go is up to IPVS. */
import type { Protocol } from '../../api/records.ts'
import {
  loopbackRange,
  markMasqueradeChain,
  postroutingChain,
} from '../../dataplane/iptables/language/masquerade-chains.ts'
import { fromLocalPods } from '../../dataplane/iptables/language/from-local-pods.ts'
import type { Chain, Match, Rule, Target } from '../../dataplane/iptables/language/rule.ts'
import { jump } from '../../dataplane/iptables/language/rule.ts'
import { explainedSet, inSet } from './chain-context.ts'
import type { ChainContext } from './chain-context.ts'
import type { SetId } from './ip-sets.ts'
import { ipvsChains } from './top-chains.ts'

const markMasquerade = jump(ipvsChains.markMasquerade)
const accept: Target = { kind: 'accept' }
const back: Target = { kind: 'return' }

export function natChains(context: ChainContext): readonly Chain[] {
  return [
    { name: ipvsChains.services, rules: servicesRules(context) },
    postrouting(context),
    { name: ipvsChains.nodePort, rules: nodePortRules(context) },
    { name: ipvsChains.loadBalancer, rules: loadBalancerRules(context) },
    markMasqueradeChain(context.settings),
  ]
}

function servicesRules(context: ChainContext): readonly Rule[] {
  const { family } = context.settings
  const rules: Rule[] = [{ matches: [{ kind: 'source', value: loopbackRange[family] }], target: back }]
  if (context.isFilled('loadBalancer'))
    rules.push({ matches: explainedSet(context, 'loadBalancer', 'dst,dst'), target: jump(ipvsChains.loadBalancer) })
  if (context.isFilled('clusterIp')) rules.push(...clusterIpRules(context))
  if (context.isFilled('externalIp'))
    rules.push(
      { matches: explainedSet(context, 'externalIp', 'dst,dst'), target: markMasquerade },
      ...acceptExternalIp(context, 'externalIp'),
    )
  if (context.isFilled('externalIpLocal')) rules.push(...acceptExternalIp(context, 'externalIpLocal'))
  rules.push({ matches: [{ kind: 'local-address', end: 'destination' }], target: jump(ipvsChains.nodePort) })
  for (const set of ['clusterIp', 'loadBalancer'] as const)
    if (context.isFilled(set)) rules.push({ matches: [inSet(context, set, 'dst,dst')], target: accept })
  return rules
}

/** Traffic for a cluster IP that did not come from a pod of this node would not find its way back. */
function clusterIpRules(context: ChainContext): readonly Rule[] {
  const { masqueradeAll, localTraffic } = context.settings
  if (masqueradeAll) return [{ matches: explainedSet(context, 'clusterIp', 'dst,dst'), target: markMasquerade }]
  const fromPods = fromLocalPods(localTraffic)
  // The node itself connects to a cluster IP from that very IP, so this much can be told without knowing the pods.
  if (fromPods === undefined)
    return [{ matches: explainedSet(context, 'clusterIp', 'src,dst'), target: markMasquerade }]
  // Nothing lies outside of a CIDR that holds everything, and iptables-nft refuses to ask for it.
  if (fromPods.value.endsWith('/0')) return []
  const matches = [...explainedSet(context, 'clusterIp', 'dst,dst'), { ...fromPods, isNot: true }]
  return [{ matches, target: markMasquerade }]
}

/** From outside, but not through a bridge; and from the node to an address of its own. */
function acceptExternalIp(context: ChainContext, set: SetId): readonly Rule[] {
  const address = explainedSet(context, set, 'dst,dst')
  const fromOutside: readonly Match[] = [{ kind: 'not-bridged' }, { kind: 'local-address', end: 'source', isNot: true }]
  return [
    { matches: [...address, ...fromOutside], target: accept },
    { matches: [...address, { kind: 'local-address', end: 'destination' }], target: accept },
  ]
}

/** A pod that reaches itself comes first: its packets carry no mark. */
function postrouting(context: ChainContext): Chain {
  const { name, rules } = postroutingChain(context.settings)
  if (!context.isFilled('loopBack')) return { name, rules }
  const hairpin: Rule = {
    matches: explainedSet(context, 'loopBack', 'dst,dst,src'),
    target: { kind: 'masquerade', isRandomFully: false },
  }
  return { name, rules: [hairpin, ...rules] }
}

function nodePortRules(context: ChainContext): readonly Rule[] {
  const rules: Rule[] = []
  for (const { protocol, local, all, ends } of nodePortSets)
    for (const [set, target] of [[local, back] as const, [all, markMasquerade] as const])
      if (context.isFilled(set))
        rules.push({ matches: [{ kind: 'protocol', protocol }, ...explainedSet(context, set, ends)], target })
  return rules
}

const nodePortSets: readonly { protocol: Protocol; local: SetId; all: SetId; ends: string }[] = [
  { protocol: 'TCP', local: 'nodePortLocalTcp', all: 'nodePortTcp', ends: 'dst' },
  { protocol: 'UDP', local: 'nodePortLocalUdp', all: 'nodePortUdp', ends: 'dst' },
  { protocol: 'SCTP', local: 'nodePortLocalSctp', all: 'nodePortSctp', ends: 'dst,dst' },
]

function loadBalancerRules(context: ChainContext): readonly Rule[] {
  const masquerade: Rule = { matches: [], target: markMasquerade }
  if (!context.isFilled('loadBalancerLocal')) return [masquerade]
  return [{ matches: explainedSet(context, 'loadBalancerLocal', 'dst,dst'), target: back }, masquerade]
}
