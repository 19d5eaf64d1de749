/** What the mode does with a client at an entrance: the outcome of the route, as this mode carries it out. */
import type { TrafficPolicy } from '../../api/records.ts'
import { cidrContains, parseCidr } from '../../net/ip.ts'
import type { AllowedSources, Endpoint, Entrance, Outcome, Route } from '../route.ts'
import { endpointsForAll } from '../routing/one-server.ts'
import type { AppliedPolicy, ClientSees, Explanation, Source, Verdict } from './explanation.ts'
import type { ModeTraits } from './mode-traits.ts'
import { isNodeAddress } from './places.ts'
import type { Scene } from './world.ts'

/** Whom the client may meet. */
export interface Serving {
  readonly endpoints: readonly Endpoint[]
  /** By which they were chosen. */
  readonly policy: TrafficPolicy
  readonly outcome: Outcome['kind']
}

export function servingAt(entrance: Entrance, route: Route, source: Source, traits: ModeTraits): Serving {
  if (traits.endpoints === 'one list') {
    const endpoints = endpointsForAll(entrance, route)
    const isFallback = entrance.outside.kind !== 'forward' && endpoints.length > 0
    const policy = isFallback ? 'Cluster' : entrance.outside.policy
    return { endpoints, policy, outcome: endpoints.length > 0 ? 'forward' : 'reject' }
  }
  const isInside = traits.endpoints === 'by source' && source.isInside
  const outcome = isInside ? entrance.inside : entrance.outside
  const endpoints = outcome.kind === 'forward' ? outcome.to : []
  return { endpoints, policy: outcome.policy, outcome: outcome.kind }
}

export function appliedPolicy(entrance: Entrance, serving: Serving, traits: ModeTraits): AppliedPolicy {
  const field = entrance.kind === 'cluster-ip' ? 'internalTrafficPolicy' : 'externalTrafficPolicy'
  const asked = entrance.outside.policy
  const { policy } = serving
  return { policy, field, asked, why: policyReason({ policy, field, asked }, traits) }
}

function policyReason({ policy, asked }: Omit<AppliedPolicy, 'why'>, { endpoints, mode }: ModeTraits): string {
  if (policy !== asked)
    return endpoints === 'one list'
      ? `no endpoint of this node can serve, and the ${mode} mode uses those of other nodes then`
      : 'it is meant for clients outside, and this one is on this node: endpoints of all nodes may answer'
  if (policy === 'Cluster') return 'endpoints of all nodes may answer'
  return endpoints === 'one list'
    ? `only endpoints of this node may answer; in ${mode} mode that holds for clients on this node, too`
    : 'only endpoints of this node may answer'
}

export function sourceRangesAt(
  entrance: Entrance,
  route: Route,
  serving: Serving,
  source: Source,
  traits: ModeTraits,
): Explanation['sourceRanges'] {
  const allowed = allowedAt(entrance, route, traits)
  if (allowed === undefined) return undefined
  const { ranges } = allowed
  const isClosed = ranges.length === 0 && allowed.ownAddresses.length === 0
  if (traits.sourceRanges === 'never' && !isClosed)
    return { ranges, isAllowed: true, isEnforced: false, why: `the ${traits.mode} mode cannot enforce them` }
  if (
    traits.sourceRanges === 'where somebody serves' &&
    entrance.outside.kind === 'reject' &&
    serving.outcome !== 'forward'
  )
    return { ranges, isAllowed: true, isEnforced: false, why: 'nobody serves, so all clients are treated alike' }
  return { ranges, isEnforced: true, ...mayCome(entrance, allowed, source, traits) }
}

/** An address may be a cluster IP and a load-balancer IP at once: who asks first asks for the address. */
function allowedAt(
  entrance: Entrance,
  { entrances, ranges = [] }: Route,
  { sourceRanges }: ModeTraits,
): AllowedSources | undefined {
  if (sourceRanges !== 'first' || entrance.kind === 'node-port') return entrance.allowed
  const isThere = (it: Entrance) => it.kind !== 'node-port' && it.ip === entrance.ip && it.port === entrance.port
  const all: readonly Entrance[] = 'lastPort' in entrance ? ranges : entrances
  return all.find((it) => isThere(it) && it.allowed !== undefined)?.allowed
}

function mayCome(
  entrance: Entrance,
  { ranges, ownAddresses }: AllowedSources,
  { ip, place }: Source,
  { asksRangesOfNode, mode }: ModeTraits,
): { readonly isAllowed: boolean | 'depends'; readonly why: string } {
  if (ranges.length === 0 && ownAddresses.length === 0)
    return { isAllowed: false, why: 'no range can be used, so nobody may come' }
  if (ip === undefined) return { isAllowed: 'depends', why: 'only clients in these ranges may come' }
  if (ownAddresses.includes(ip)) return { isAllowed: true, why: 'it is this node, which is in the ranges' }
  const isFromEntrance = 'ip' in entrance && entrance.ip === ip
  if (place === 'this node' && !asksRangesOfNode && !isFromEntrance)
    return { isAllowed: true, why: `the ${mode} mode does not ask them of this node` }
  const range = ranges.find((text) => {
    const cidr = parseCidr(text)
    return cidr !== undefined && cidrContains(cidr, ip)
  })
  return range === undefined
    ? { isAllowed: false, why: `${ip} is in none of them` }
    : { isAllowed: true, why: `${ip} is in ${range}` }
}

export interface Decided {
  readonly verdict: Verdict
  readonly clientSees: ClientSees
  readonly remarks: readonly string[]
}

export function decide(
  entrance: Entrance,
  serving: Serving,
  source: Source,
  ranges: Explanation['sourceRanges'],
  scene: Scene,
): Decided {
  const { traits } = scene
  if (ranges?.isEnforced === true && ranges.isAllowed === false)
    return decided(
      { kind: 'drop', because: 'source not allowed' },
      traits.sourceRanges === 'by a socket' ? 'accepted, then reset' : 'timeout',
    )
  const obstacle = whyNotFromNode(entrance, serving, source, scene)
  if (obstacle !== undefined)
    return decided({ kind: 'untouched', because: 'not for this source' }, 'whatever is there', obstacle)
  switch (serving.outcome) {
    case 'forward':
      return decided({ kind: 'forward' }, 'an answer', ...bridgedPods(entrance, source, scene))
    case 'reject':
    case 'drop':
      return unserved(serving.outcome, entrance, scene.traits)
    default:
      return serving.outcome satisfies never
  }
}

function unserved(kind: 'reject' | 'drop', { outside }: Entrance, traits: ModeTraits): Decided {
  if (traits.unserved === 'not at all')
    return decided(
      { kind: 'untouched', because: 'no endpoint' },
      'timeout',
      `the ${traits.mode} mode has nothing at an address that nobody serves`,
    )
  const isClosed = outside.kind === 'forward'
  if (kind === 'reject')
    return decided({ kind, because: isClosed ? 'closed meanwhile' : 'no endpoint' }, seenWhen('reject', traits))
  return decided({ kind, because: 'no endpoint here' }, seenWhen('drop', traits))
}

export function seenWhen(kind: 'reject' | 'drop', { unserved: how }: ModeTraits): ClientSees {
  if (how === 'not at all') return 'timeout'
  if (how === 'by a socket') return kind === 'reject' ? 'accepted, then reset' : 'accepted, then closed'
  return kind === 'reject' ? 'refused at once' : 'timeout'
}

/** Some rules are only for packets that arrive, or that end on this node. */
function whyNotFromNode(entrance: Entrance, serving: Serving, source: Source, scene: Scene): string | undefined {
  const { traits } = scene
  if (source.place !== 'this node' || entrance.kind === 'cluster-ip' || entrance.kind === 'node-port') return undefined
  if (isNodeAddress(entrance.ip, scene)) return undefined
  if (traits.fromNodeToElsewhere === 'not rejected' && serving.outcome !== 'forward')
    return `the ${traits.mode} mode does not reject what this node itself sends to an external address`
  if (traits.fromNodeToElsewhere === 'not at external IPs' && entrance.kind === 'external-ip')
    return `in ${traits.mode} mode an external IP that this node does not hold is not for its own traffic`
  return undefined
}

function bridgedPods(entrance: Entrance, { place }: Source, scene: Scene): readonly string[] {
  const isSpecial =
    scene.traits.fromNodeToElsewhere === 'not at external IPs' &&
    entrance.kind === 'external-ip' &&
    place === 'pod on this node' &&
    !isNodeAddress(entrance.ip, scene)
  return isSpecial ? ['what a pod behind a bridge of this node sends there leaves the node instead'] : []
}

function decided(verdict: Verdict, clientSees: ClientSees, ...remarks: readonly string[]): Decided {
  return { verdict, clientSees, remarks }
}
