/**
 * Client-IP affinity. Each endpoint of such a Service port has a set of the clients that it has served, and a chain
 * that puts a client there and goes to the endpoint. When the endpoint leaves, its set goes in the same transaction:
 * so nobody is sent to it any more.
 */
import type { TrafficPolicy } from '../../api/records.ts'
import type { Endpoint, Outcome, Route, Treatment } from '../../core/route.ts'
import type { SetDeclaration } from '../../dataplane/nft/nft.ts'
import { rule } from '../../dataplane/nft/rule.ts'
import type { Rule, Statement } from '../../dataplane/nft/rule.ts'
import type { OwnChains } from './own-chains.ts'
import { shortCircuit } from './pick-chains.ts'
import type { PlannedChain } from './planned-chain.ts'
import { routeId } from './route-id.ts'
import type { NftablesSettings } from './settings.ts'

/** Endpoints get a connection at their port, or, in a range, at the one that the client asked for. */
type At = '' | '-range'

/**
 * Where packets that come by the entrance go. The chains do not care by which address or port they came, so a client
 * sticks across all.
 */
export function stickyChainAt(route: Route, { keepsSourceOf, outside }: Treatment, keepsPort: boolean): string {
  const at = keepsPort ? '-range' : ''
  return keepsSourceOf === 'pods' ? spreadChainName(route, outside.policy, at) : externalChainName(route, at)
}

export function stickyChains(route: Route, affinitySeconds: number, settings: NftablesSettings): OwnChains {
  const { internal, external, reachableEndpoints } = route
  const outcomes = [internal, ...(external === undefined ? [] : [external])].flatMap(({ inside, outside }) => [
    inside,
    outside,
  ])
  const chains: PlannedChain[] = []
  for (const at of route.ranges === undefined ? atPorts : atPortsAndRanges) {
    chains.push(...reachableEndpoints.map((endpoint) => endpointChain(route, endpoint, at)))
    for (const policy of ['Cluster', 'Local'] as const) {
      const forward = outcomes.find((outcome) => outcome.policy === policy && outcome.kind === 'forward')
      if (forward?.kind === 'forward') chains.push(spreadChain(route, forward.policy, forward.to, at))
    }
    if (external !== undefined) chains.push(externalChain(route, external, settings, at))
  }
  return { sets: reachableEndpoints.map((endpoint) => affinitySet(route, endpoint, affinitySeconds)), chains }
}

const atPorts: readonly At[] = ['']
const atPortsAndRanges: readonly At[] = ['', '-range']

function affinitySet(route: Route, endpoint: Endpoint, timeoutSeconds: number): SetDeclaration {
  return {
    name: affinitySetName(route, endpoint),
    key: [route.family === 'ipv4' ? 'ipv4_addr' : 'ipv6_addr'],
    timeoutSeconds,
    comment: 'clients of this endpoint',
  }
}

function endpointChain(route: Route, endpoint: Endpoint, at: At): PlannedChain {
  const { ip, port } = endpoint
  return {
    name: endpointChainName(route, endpoint, at),
    comment: 'remembers the client, then sends it to the endpoint',
    rules: [
      // A rule of its own: a set that is full must not keep anybody from the endpoint.
      rule({ kind: 'remember source', set: affinitySetName(route, endpoint) }),
      rule({ kind: 'protocol', protocol: route.protocol }, { kind: 'dnat', ip, ...(at === '' && { port }) }),
    ],
  }
}

function spreadChain(route: Route, policy: TrafficPolicy, endpoints: readonly Endpoint[], at: At): PlannedChain {
  const goTo = (endpoint: Endpoint): Statement => ({ kind: 'goto', chain: endpointChainName(route, endpoint, at) })
  const known = endpoints.map((endpoint) =>
    rule({ kind: 'in set', fields: ['source'], set: affinitySetName(route, endpoint) }, goTo(endpoint)),
  )
  const parts = partsOf(endpoints)
  let left = parts.reduce((sum, part) => sum + part, 0)
  const fresh = endpoints.map((endpoint, index): Rule => {
    const [hits = 1, of] = [parts[index], left]
    left -= hits
    return left === 0 ? rule(goTo(endpoint)) : rule({ kind: 'chance', hits, of }, goTo(endpoint))
  })
  return {
    name: spreadChainName(route, policy, at),
    comment: 'the endpoint that served the client before, or any',
    rules: [...known, ...fresh],
  }
}

/** What each gets of the connections of new clients. */
function partsOf(endpoints: readonly Endpoint[]): readonly number[] {
  const isEven = endpoints.every(({ weight }) => weight === endpoints[0]?.weight)
  return endpoints.map(({ weight }) => (isEven ? 1 : weight))
}

function externalChain(
  route: Route,
  { inside, outside, keepsSourceOf }: Treatment,
  settings: NftablesSettings,
  at: At,
): PlannedChain {
  const name = externalChainName(route, at)
  const toSpread = ({ policy }: Outcome): Statement => ({ kind: 'goto', chain: spreadChainName(route, policy, at) })
  const forOutside = outside.kind === 'forward' ? [rule(toSpread(outside))] : []
  if (keepsSourceOf === 'nobody') {
    const mark = rule({ kind: 'set mark', mark: settings.masqueradeMark })
    return { name, comment: 'masquerades', rules: forOutside.length === 0 ? [] : [mark, ...forOutside] }
  }
  const forInside = inside.kind === 'forward' ? shortCircuit(settings, toSpread(inside)) : []
  return { name, comment: 'policy Local: endpoints on this node', rules: [...forInside, ...forOutside] }
}

function spreadChainName(route: Route, policy: TrafficPolicy, at: At): string {
  return `${policy === 'Local' ? 'sticky-local' : 'sticky'}${at}/${routeId(route)}`
}

function externalChainName(route: Route, at: At): string {
  return `sticky-external${at}/${routeId(route)}`
}

function affinitySetName(route: Route, endpoint: Endpoint): string {
  return `affinity/${endpointId(route, endpoint)}`
}

function endpointChainName(route: Route, endpoint: Endpoint, at: At): string {
  return `endpoint${at}/${endpointId(route, endpoint)}`
}

/** At most 242 characters, so with a prefix it fits into the kernel's 255. nft does not allow colons in names. */
function endpointId(route: Route, { ip, port }: Endpoint): string {
  return `${routeId(route)}/${ip.replaceAll(':', '.')}/${port}`
}
