/**
 * The chains whose rules ask sets and speak of no single Service. In nat they choose what is masqueraded: where connections
 * go is up to IPVS. In filter they say who may reach a Service address, and what else may be reached there.
 */
import type { Protocol } from '../../api/records.ts'
import { noCounters } from '../../dataplane/iptables/language/counters.ts'
import { fromLocalPods } from '../../dataplane/iptables/language/from-local-pods.ts'
import type { Table } from '../../dataplane/iptables/language/kube-chains.ts'
import {
  forwardChain,
  loopbackRange,
  markMasqueradeChain,
  postroutingChain,
} from '../../dataplane/iptables/language/masquerade-chains.ts'
import { renderChain } from '../../dataplane/iptables/language/rendered-chain.ts'
import type { RenderedChain } from '../../dataplane/iptables/language/rendered-chain.ts'
import type { Chain, Match, Rule, Target } from '../../dataplane/iptables/language/rule.ts'
import { comment, jump } from '../../dataplane/iptables/language/rule.ts'
import { ipSets, setName } from './ip-sets.ts'
import type { SetId } from './ip-sets.ts'
import type { IpvsSettings } from './settings.ts'
import { ipvsChains } from './top-chains.ts'

export interface PlacedChain {
  readonly table: Table
  readonly chain: RenderedChain
}

interface ChainContext {
  readonly settings: IpvsSettings
  /** A rule that asks an empty set matches nothing; kube-proxy leaves most of those out. */
  readonly filledSets: ReadonlySet<SetId>
}

const markMasquerade = jump(ipvsChains.markMasquerade)
const accept: Target = { kind: 'accept' }
const back: Target = { kind: 'return' }

/** All but filter/KUBE-IPVS-OUT-FILTER, which holds rules of Services. */
export function fixedChains(context: ChainContext): readonly PlacedChain[] {
  return [
    ...natChains(context).map((chain) => ({ table: 'nat' as const, chain: renderChain(chain) })),
    ...filterChains(context).map((chain) => ({ table: 'filter' as const, chain: renderChain(chain) })),
  ]
}

function natChains(context: ChainContext): readonly Chain[] {
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
  if (context.filledSets.has('loadBalancer'))
    rules.push({ matches: explainedSet(context, 'loadBalancer', 'dst,dst'), target: jump(ipvsChains.loadBalancer) })
  if (context.filledSets.has('clusterIp')) rules.push(...clusterIpRules(context))
  if (context.filledSets.has('externalIp'))
    rules.push(
      { matches: explainedSet(context, 'externalIp', 'dst,dst'), target: markMasquerade },
      ...acceptExternalIp(context, 'externalIp'),
    )
  if (context.filledSets.has('externalIpLocal')) rules.push(...acceptExternalIp(context, 'externalIpLocal'))
  rules.push({ matches: [{ kind: 'local-address', end: 'destination' }], target: jump(ipvsChains.nodePort) })
  for (const set of ['clusterIp', 'loadBalancer'] as const)
    if (context.filledSets.has(set)) rules.push({ matches: [inSet(context, set, 'dst,dst')], target: accept })
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
  if (!context.filledSets.has('loopBack')) return { name, rules }
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
      if (context.filledSets.has(set))
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
  if (!context.filledSets.has('loadBalancerLocal')) return [masquerade]
  return [{ matches: explainedSet(context, 'loadBalancerLocal', 'dst,dst'), target: back }, masquerade]
}

function filterChains(context: ChainContext): readonly Chain[] {
  return [
    forwardChain({ ...context.settings, dropsInvalid: false, counters: noCounters }),
    {
      name: ipvsChains.nodePort,
      rules: [{ matches: explainedSet(context, 'healthCheckNodePort', 'dst'), target: accept }],
    },
    { name: ipvsChains.proxyFirewall, rules: proxyFirewallRules(context) },
    { name: ipvsChains.sourceRanges, rules: sourceRangesRules(context) },
    { name: ipvsChains.access, rules: accessRules(context) },
  ]
}

function proxyFirewallRules(context: ChainContext): readonly Rule[] {
  if (!context.filledSets.has('loadBalancerFirewall')) return []
  return [{ matches: explainedSet(context, 'loadBalancerFirewall', 'dst,dst'), target: jump(ipvsChains.sourceRanges) }]
}

function sourceRangesRules(context: ChainContext): readonly Rule[] {
  const allowed = (['loadBalancerSourceCidr', 'loadBalancerSourceIp'] as const).filter((set) =>
    context.filledSets.has(set),
  )
  return [
    ...allowed.map((set): Rule => ({
      matches: explainedSet(context, set, 'dst,dst,src'),
      target: back,
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
      target: back,
    })),
    {
      matches: [{ kind: 'connection-state', states: ['NEW'] }, inSet(context, 'ipvsIps', 'dst')],
      target: { kind: 'reject' },
    },
  ]
}

function inSet({ settings }: ChainContext, set: SetId, ends: string): Match {
  return { kind: 'ip-set', name: setName(set, settings.family), ends }
}

/** The same, with the comment that says what the set is for. */
function explainedSet(context: ChainContext, set: SetId, ends: string): readonly Match[] {
  return [comment(ipSets[set].comment), inSet(context, set, ends)]
}
