/**
 * Client-IP affinity. Each endpoint of such a Service port has a set of the clients that it has served, and a chain
 * that puts a client there and goes to the endpoint. When the endpoint leaves, its set goes in the same transaction:
 * so nobody is sent to it any more.
 */
import type { Endpoint, Route } from '../../core/route.ts'
import type { SetDeclaration } from '../../dataplane/nft/nft.ts'
import { shortCircuit } from './pick-chains.ts'
import type { PlannedChain } from './planned-chain.ts'
import { rule } from './rule.ts'
import type { Rule, Statement } from './rule.ts'
import type { NftablesSettings } from './settings.ts'

export interface StickyChains {
  readonly sets: readonly SetDeclaration[]
  /** Each after those that it leads to. */
  readonly chains: readonly PlannedChain[]
}

export const noStickyChains: StickyChains = { sets: [], chains: [] }

/** Where packets enter. The chains do not care by which address or port they came, so a client sticks across all. */
export function stickyChainNames(route: Route) {
  const id = routeId(route)
  return { cluster: `sticky/${id}`, local: `sticky-local/${id}`, external: `sticky-external/${id}` }
}

export function stickyChains(route: Route, settings: NftablesSettings): StickyChains {
  const names = stickyChainNames(route)
  const { clusterEndpoints, localEndpoints, reachableEndpoints } = route
  const chains: PlannedChain[] = reachableEndpoints.map((endpoint) => endpointChain(route, endpoint))
  if (clusterEndpoints.length > 0) chains.push(spreadChain(route, names.cluster, clusterEndpoints))
  if (localEndpoints.length > 0) chains.push(spreadChain(route, names.local, localEndpoints))
  if (route.isExternallyAccessible) chains.push(externalChain(route, settings))
  return { sets: reachableEndpoints.map((endpoint) => affinitySet(route, endpoint)), chains }
}

function affinitySet(route: Route, endpoint: Endpoint): SetDeclaration {
  return {
    name: affinitySetName(route, endpoint),
    key: [route.family === 'ipv4' ? 'ipv4_addr' : 'ipv6_addr'],
    timeoutSeconds: route.affinitySeconds,
    comment: 'clients of this endpoint',
  }
}

function endpointChain(route: Route, endpoint: Endpoint): PlannedChain {
  return {
    name: endpointChainName(route, endpoint),
    comment: 'remembers the client, then sends it to the endpoint',
    rules: [
      // A rule of its own: a set that is full must not keep anybody from the endpoint.
      rule({ kind: 'remember source', set: affinitySetName(route, endpoint) }),
      rule({ kind: 'protocol', protocol: route.protocol }, { kind: 'dnat', ip: endpoint.ip, port: endpoint.port }),
    ],
  }
}

function spreadChain(route: Route, name: string, endpoints: readonly Endpoint[]): PlannedChain {
  const goTo = (endpoint: Endpoint): Statement => ({ kind: 'goto', chain: endpointChainName(route, endpoint) })
  const known = endpoints.map((endpoint) =>
    rule({ kind: 'in set', fields: ['source'], set: affinitySetName(route, endpoint) }, goTo(endpoint)),
  )
  const fresh = endpoints.map((endpoint, index): Rule => {
    const oneIn = endpoints.length - index
    return oneIn === 1 ? rule(goTo(endpoint)) : rule({ kind: 'chance', oneIn }, goTo(endpoint))
  })
  return { name, comment: 'the endpoint that served the client before, or any', rules: [...known, ...fresh] }
}

function externalChain(route: Route, settings: NftablesSettings): PlannedChain {
  const names = stickyChainNames(route)
  const toCluster: Statement = { kind: 'goto', chain: names.cluster }
  const hasCluster = route.clusterEndpoints.length > 0
  const cluster = [rule({ kind: 'set mark', mark: settings.masqueradeMark }), rule(toCluster)]
  const local = [
    ...(hasCluster ? shortCircuit(settings, toCluster) : []),
    ...(route.localEndpoints.length > 0 ? [rule({ kind: 'goto', chain: names.local })] : []),
  ]
  return route.externalPolicy === 'Local'
    ? { name: names.external, comment: 'policy Local: endpoints on this node', rules: local }
    : { name: names.external, comment: 'masquerades', rules: hasCluster ? cluster : [] }
}

function affinitySetName(route: Route, endpoint: Endpoint): string {
  return `affinity/${endpointId(route, endpoint)}`
}

function endpointChainName(route: Route, endpoint: Endpoint): string {
  return `endpoint/${endpointId(route, endpoint)}`
}

/** At most 242 characters, so with a prefix it fits into the kernel's 255. nft does not allow colons in names. */
function endpointId(route: Route, { ip, port }: Endpoint): string {
  return `${routeId(route)}/${ip.replaceAll(':', '.')}/${port}`
}

function routeId({ namespace, name, portName, protocol }: Route): string {
  return `${namespace}/${name}/${protocol.toLowerCase()}/${portName}`
}
