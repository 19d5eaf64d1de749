/** The chains of one Service port in the nat table: entry from outside, source ranges, and the spread over endpoints. */
import type { Endpoint } from '../../core/route.ts'
import { endpointChains } from './endpoint-chains.ts'
import { fromLocalPods } from '../../dataplane/iptables/language/from-local-pods.ts'
import type { Chain, Match, Rule } from '../../dataplane/iptables/language/rule.ts'
import { comment, jump } from '../../dataplane/iptables/language/rule.ts'
import type { ServiceFacts } from './service-facts.ts'
import type { IptablesSettings } from './settings.ts'
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'

export interface ChainOptions {
  readonly settings: IptablesSettings
  /** Rules of endpoints carry no comment. */
  readonly isLargeCluster: boolean
}

export function serviceChains(facts: ServiceFacts, options: ChainOptions): readonly Chain[] {
  const { route, chains } = facts
  const result: Chain[] = []
  if (facts.usesExternalChain) result.push(externalChain(facts, options.settings))
  if (facts.usesFirewallChain) result.push(firewallChain(facts))
  if (facts.usesClusterChain) result.push(spreadChain(facts, chains.cluster, route.clusterEndpoints, options))
  if (facts.usesLocalChain) result.push(spreadChain(facts, chains.local, route.localEndpoints, options))
  result.push(...endpointChains(facts, options.isLargeCluster))
  return result
}

/** Everything from outside enters here. With policy Local, pods and the node itself take a short cut to all endpoints. */
function externalChain(facts: ServiceFacts, settings: IptablesSettings): Chain {
  const { name, route, chains } = facts
  const rules: Rule[] = []
  const masquerade = jump(topChains.markMasquerade)
  const toCluster = jump(chains.cluster)
  const fromNode: Match = { kind: 'local-address', end: 'source' }
  if (route.externalPolicy === 'Cluster')
    rules.push({ matches: [comment(`masquerade traffic for ${name} external destinations`)], target: masquerade })
  else {
    const fromPods = fromLocalPods(settings.localTraffic)
    if (fromPods !== undefined)
      rules.push({ matches: [comment(`pod traffic for ${name} external destinations`), fromPods], target: toCluster })
    rules.push(
      {
        matches: [comment(`masquerade LOCAL traffic for ${name} external destinations`), fromNode],
        target: masquerade,
      },
      { matches: [comment(`route LOCAL traffic for ${name} external destinations`), fromNode], target: toCluster },
    )
  }
  if (facts.hasExternal) rules.push({ matches: [], target: jump(facts.externalPolicyChain) })
  return { name: chains.external, rules }
}

/** What no range lets pass stays as it is, and the filter table drops it. */
function firewallChain({ name, route, chains }: ServiceFacts): Chain {
  const { sourceRanges = [], sourceRangesCoverNode, loadBalancerIPs } = route
  const sources = sourceRangesCoverNode ? [...sourceRanges, ...loadBalancerIPs] : sourceRanges
  const allow = sources.map((value): Rule => ({
    matches: [comment(`${name} loadbalancer IP`), { kind: 'source', value }],
    target: jump(chains.external),
  }))
  const note = comment(`other traffic to ${name} will be dropped by ${topChains.proxyFirewall}`)
  return { name: chains.firewall, rules: [...allow, { matches: [note], target: undefined }] }
}

function spreadChain(
  facts: ServiceFacts,
  chain: string,
  endpoints: readonly Endpoint[],
  { settings, isLargeCluster }: ChainOptions,
): Chain {
  const rules: Rule[] = []
  if (facts.hasInternal && facts.internalChain === chain) rules.push(...masqueradeRules(facts, settings))
  const towards = (endpoint: Endpoint, matches: readonly Match[]): Rule => ({
    matches: isLargeCluster ? matches : [comment(`${facts.name} -> ${endpoint.address}`), ...matches],
    target: jump(facts.chains.endpoint(endpoint)),
  })
  if (facts.route.affinitySeconds > 0)
    for (const endpoint of endpoints) {
      const list = facts.chains.endpoint(endpoint)
      rules.push(towards(endpoint, [{ kind: 'seen', list, seconds: facts.route.affinitySeconds }]))
    }
  for (const [index, endpoint] of endpoints.entries()) {
    const left = endpoints.length - index
    rules.push(towards(endpoint, left === 1 ? [] : [{ kind: 'chance', oneIn: left }]))
  }
  return { name: chain, rules }
}

/** Traffic for the cluster IP that did not come from a pod of this node would not find its way back. */
function masqueradeRules({ name, route }: ServiceFacts, { masqueradeAll, localTraffic }: IptablesSettings): Rule[] {
  const matches: Match[] = [
    comment(`${name} cluster IP`),
    { kind: 'traffic', protocol: route.protocol, destination: route.clusterIP, destinationPort: route.port },
  ]
  if (!masqueradeAll) {
    const fromPods = fromLocalPods(localTraffic)
    // Nothing lies outside of a CIDR that holds everything, and iptables-nft refuses to ask for it.
    if (fromPods === undefined || fromPods.value.endsWith('/0')) return []
    matches.push({ ...fromPods, isNot: true })
  }
  return [{ matches, target: jump(topChains.markMasquerade) }]
}
