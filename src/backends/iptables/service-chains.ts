/** The chains of one Service port in the nat table: entry from outside, source ranges, spread, and endpoints. */
import type { TrafficPolicy } from '../../api/records.ts'
import type { AllowedSources, Endpoint, NonEmpty, Route, Treatment } from '../../core/route.ts'
import { fromLocalPods } from '../../dataplane/iptables/language/from-local-pods.ts'
import { topChains } from '../../dataplane/iptables/language/kube-chains.ts'
import { comment, jump } from '../../dataplane/iptables/language/rule.ts'
import type { Chain, Match, Rule } from '../../dataplane/iptables/language/rule.ts'
import { addressTraffic } from './address-traffic.ts'
import type { ServiceChainNames } from './chain-names.ts'
import { choicesOf } from './choices.ts'
import type { IptablesSettings } from './settings.ts'

export interface ChainOptions {
  readonly settings: IptablesSettings
  /** Rules of endpoints carry no comment. */
  readonly isLargeCluster: boolean
}

const masquerade = jump(topChains.markMasquerade)

export function serviceChains(route: Route, names: ServiceChainNames, options: ChainOptions): readonly Chain[] {
  const { external, entrances } = route
  const chains: Chain[] = []
  // No rule jumps to these two where everybody is rejected.
  if (external !== undefined && external.outside.kind !== 'reject')
    chains.push(externalChain(external, names, options.settings))
  const restricted = entrances.find(({ allowed, outside }) => allowed !== undefined && outside.kind !== 'reject')
  if (restricted?.allowed !== undefined) chains.push(firewallChain(restricted.allowed, names))
  for (const policy of ['Cluster', 'Local'] as const) {
    const endpoints = endpointsUnder(policy, route)
    if (endpoints !== undefined) chains.push(spreadChain(route, names, policy, endpoints, options))
  }
  chains.push(...endpointChains(route, names, options))
  return chains
}

/** Everything from outside enters here. Where policy Local is not for clients inside, they take a short cut. */
function externalChain(
  { inside, outside, keepsSourceOf }: Treatment,
  names: ServiceChainNames,
  { localTraffic }: IptablesSettings,
): Chain {
  const rules: Rule[] = []
  const about = `${names.service} external destinations`
  const fromPods = fromLocalPods(localTraffic)
  const fromNode: Match = { kind: 'local-address', end: 'source' }
  const shortCut = inside.policy === outside.policy ? undefined : jump(names.spreading(inside.policy))
  if (keepsSourceOf === 'nobody')
    rules.push({ matches: [comment(`masquerade traffic for ${about}`)], target: masquerade })
  if (shortCut !== undefined && fromPods !== undefined)
    rules.push({ matches: [comment(`pod traffic for ${about}`), fromPods], target: shortCut })
  if (keepsSourceOf === 'all-but-node')
    rules.push({ matches: [comment(`masquerade LOCAL traffic for ${about}`), fromNode], target: masquerade })
  if (shortCut !== undefined)
    rules.push({ matches: [comment(`route LOCAL traffic for ${about}`), fromNode], target: shortCut })
  if (outside.kind === 'forward') rules.push({ matches: [], target: jump(names.spreading(outside.policy)) })
  return { name: names.external, rules }
}

/** What is not allowed to pass stays as it is, and the filter table drops it. */
function firewallChain({ ranges, ownAddresses }: AllowedSources, names: ServiceChainNames): Chain {
  const allow = [...ranges, ...ownAddresses].map((value): Rule => ({
    matches: [comment(`${names.service} loadbalancer IP`), { kind: 'source', value }],
    target: jump(names.external),
  }))
  const note = comment(`other traffic to ${names.service} will be dropped by ${topChains.proxyFirewall}`)
  return { name: names.firewall, rules: [...allow, { matches: [note], target: undefined }] }
}

/** The endpoints that this policy sends clients to, if it sends any. */
function endpointsUnder(policy: TrafficPolicy, { internal, external }: Route): NonEmpty<Endpoint> | undefined {
  for (const outcome of [internal.inside, external?.inside, external?.outside])
    if (outcome?.kind === 'forward' && outcome.policy === policy) return outcome.to
  return undefined
}

function spreadChain(
  route: Route,
  names: ServiceChainNames,
  policy: TrafficPolicy,
  endpoints: NonEmpty<Endpoint>,
  { settings, isLargeCluster }: ChainOptions,
): Chain {
  const rules: Rule[] = []
  if (route.internal.inside.policy === policy) rules.push(...masqueradeRules(route, names, settings))
  const towards = (endpoint: Endpoint, matches: readonly Match[]): Rule => ({
    matches: isLargeCluster ? matches : [comment(`${names.service} -> ${endpoint.address}`), ...matches],
    target: jump(names.endpoint(endpoint)),
  })
  const seconds = route.affinitySeconds
  if (seconds !== undefined)
    for (const endpoint of endpoints)
      rules.push(towards(endpoint, [{ kind: 'seen', list: names.endpoint(endpoint), seconds }]))
  for (const { endpoint, matches } of choicesOf(route, endpoints)) rules.push(towards(endpoint, matches))
  return { name: names.spreading(policy), rules }
}

/** Traffic for the cluster IP that did not come from a pod of this node would not find its way back. */
function masqueradeRules(
  { protocol, clusterIP, port, ranges = [] }: Route,
  { service }: ServiceChainNames,
  { masqueradeAll, localTraffic }: IptablesSettings,
): readonly Rule[] {
  const fromElsewhere: Match[] = []
  if (!masqueradeAll) {
    const fromPods = fromLocalPods(localTraffic)
    // Nothing lies outside of a CIDR that holds everything, and iptables-nft refuses to ask for it.
    if (fromPods === undefined || fromPods.value.endsWith('/0')) return []
    fromElsewhere.push({ ...fromPods, isNot: true })
  }
  const toClusterIp: readonly Match[] = [
    { kind: 'traffic', protocol, destination: clusterIP, destinationPort: port },
    ...ranges.filter(({ kind }) => kind === 'cluster-ip').map((range) => addressTraffic(range, protocol)),
  ]
  return toClusterIp.map((traffic) => ({
    matches: [comment(`${service} cluster IP`), traffic, ...fromElsewhere],
    target: masquerade,
  }))
}

/** One for each endpoint: the hairpin rule, and the rewrite of the destination. */
function endpointChains(route: Route, names: ServiceChainNames, { isLargeCluster }: ChainOptions): readonly Chain[] {
  const notes: readonly Match[] = isLargeCluster ? [] : [comment(names.service)]
  const traffic: Match = { kind: 'traffic', protocol: route.protocol }
  const isSticky = route.affinitySeconds !== undefined
  return route.reachableEndpoints.map((endpoint) => {
    const name = names.endpoint(endpoint)
    const affinity: readonly Match[] = isSticky ? [{ kind: 'remember', list: name }] : []
    const inRanges = (route.ranges ?? []).map((range): Rule => ({
      matches: [...notes, ...affinity, addressTraffic(range, route.protocol)],
      // Without a port, that of the packet stays.
      target: { kind: 'dnat', address: endpoint.ip },
    }))
    return {
      name,
      rules: [
        // A pod that reaches itself through its Service must see another source, or it would answer itself directly.
        { matches: [...notes, { kind: 'source', value: endpoint.ip }], target: masquerade },
        ...inRanges,
        { matches: [...notes, ...affinity, traffic], target: { kind: 'dnat', address: endpoint.address } },
      ],
    }
  })
}
