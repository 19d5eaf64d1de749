/**
 * Which endpoints may serve which traffic on this node: readiness, termination, traffic policies and topology hints,
 * decided here and nowhere else.
 */
import type { TrafficPolicy } from '../../api/records.ts'
import type { Endpoint, NonEmpty, TopologyMode } from '../route.ts'

/** Addresses and ports do not matter here. */
export type Candidate = Pick<
  Endpoint,
  'isLocal' | 'ready' | 'serving' | 'terminating' | 'zoneHints' | 'nodeHints' | 'weight' | 'isUnreachable'
>

export interface Categorized<E extends Candidate> {
  readonly cluster: readonly E[]
  readonly local: readonly E[]
  readonly reachable: readonly E[]
  readonly hasUsable: boolean
  readonly topology: TopologyMode
}

export interface Wants {
  /** Some traffic follows policy Cluster. */
  readonly clusterEndpoints: boolean
  /** Some traffic follows policy Local. */
  readonly localEndpoints: boolean
}

export interface Place {
  readonly nodeName: string
  readonly zone: string
}

const none: readonly never[] = []

/** Why an endpoint may not serve. */
export type WhyUnused =
  | 'not ready'
  /** Shutting down, and better ones are there. */
  | 'terminating'
  /** Shutting down, and answering no more. */
  | 'no longer serving'
  | 'on another node'
  /** Hints mean it for others. */
  | 'for another zone'
  | 'for another node'
  /** Its weight keeps new connections away, and others are there. */
  | 'weight 0'
  /** This node has asked it in vain, and others are there. */
  | 'unreachable'

export function categorize<E extends Candidate>(endpoints: readonly E[], wants: Wants, place: Place): Categorized<E> {
  const choice = wants.clusterEndpoints ? choiceOf(endpoints, 'Cluster', place) : undefined
  const topology = choice?.topology ?? 'none'
  const cluster = choice === undefined ? none : chosen(endpoints, choice, place)
  if (!wants.localEndpoints)
    return { cluster, local: none, reachable: cluster, hasUsable: cluster.length > 0, topology }

  const hasUsable = endpoints.some((endpoint) => endpoint.ready || isLeaving(endpoint))
  const localChoice = choiceOf(endpoints, 'Local', place)
  const local = chosen(endpoints, localChoice, place)
  const isLastResort = local.length > 0 && (localChoice.standard !== 'ready' || localChoice.rank !== bestRank)
  const reachable = !wants.clusterEndpoints
    ? local
    : topology === 'none' && !isLastResort
      ? cluster // every local endpoint is among them
      : union(endpoints, cluster, local)
  return { cluster, local, reachable, hasUsable, topology }
}

/** Which endpoints are good enough: the best ones, or what is left where there are none. */
export type Standard = 'ready' | 'ready and serving' | 'leaving' | 'serving' | 'any'

/** By what an endpoint is judged. */
export interface Choice {
  readonly standard: Standard
  readonly policy: TrafficPolicy
  /** Of those that are good enough, only these serve. */
  readonly rank: number
  readonly topology: TopologyMode
}

/**
 * The best that some endpoint has decides: one with a weight comes before one that drains, and then one that this node reaches
 * before one that it does not. So a preference never makes an outage, and what a health check says never undoes a drain.
 */
function rankOf({ weight, isUnreachable }: Candidate): number {
  return (weight > 0 ? rankOfWeight : 0) + (isUnreachable === true ? 0 : 1)
}

/** Where nobody is good enough. */
export const rankOfNobody = -1
const rankOfWeight = 2
const bestRank = rankOfWeight + 1

/** The first one that somebody passes counts. */
const standards: NonEmpty<Standard> = ['ready', 'leaving']

/** By what the endpoints are judged that a policy uses on this node. */
export function choiceOf(endpoints: readonly Candidate[], policy: TrafficPolicy, place: Place): Choice {
  for (const standard of standards) {
    const choice = choiceBy(standard, endpoints, policy, place)
    if (choice !== undefined) return choice
  }
  return { standard: standards[0], policy, rank: rankOfNobody, topology: 'none' }
}

/** Undefined: nobody is good enough. */
export function choiceBy(
  standard: Standard,
  endpoints: readonly Candidate[],
  policy: TrafficPolicy,
  place: Place,
): Choice | undefined {
  let rank = rankOfNobody
  for (const endpoint of endpoints) {
    if (!isAllowed(endpoint, policy) || !isFit(endpoint, standard)) continue
    rank = Math.max(rank, rankOf(endpoint))
    if (rank === bestRank) break
  }
  if (rank === rankOfNobody) return undefined
  // Hints say where healthy traffic should go, not where the last resort is.
  const areHintsMeant = policy === 'Cluster' && (standard === 'ready' || standard === 'ready and serving')
  return { standard, policy, rank, topology: areHintsMeant ? topologyMode(endpoints, standard, rank, place) : 'none' }
}

export function chosen<E extends Candidate>(endpoints: readonly E[], choice: Choice, place: Place): readonly E[] {
  if (choice.rank === rankOfNobody) return none
  return keep(endpoints, (endpoint) => whyUnused(endpoint, choice, place) === undefined)
}

/** Undefined: it serves. */
export function whyUnused(endpoint: Candidate, choice: Choice, place: Place): WhyUnused | undefined {
  if (!isAllowed(endpoint, choice.policy)) return 'on another node'
  if (!isFit(endpoint, choice.standard)) {
    if (!endpoint.terminating) return 'not ready'
    return endpoint.serving ? 'terminating' : 'no longer serving'
  }
  if (rankOf(endpoint) < choice.rank)
    return endpoint.weight === 0 && choice.rank >= rankOfWeight ? 'weight 0' : 'unreachable'
  if (isNear(endpoint, choice.topology, place)) return undefined
  return choice.topology === 'PreferSameNode' ? 'for another node' : 'for another zone'
}

function isAllowed({ isLocal }: Candidate, policy: TrafficPolicy): boolean {
  return policy === 'Cluster' || isLocal
}

function isFit(endpoint: Candidate, standard: Standard): boolean {
  switch (standard) {
    case 'ready':
      return endpoint.ready
    case 'ready and serving':
      return endpoint.ready && endpoint.serving
    case 'leaving':
      return isLeaving(endpoint)
    case 'serving':
      return endpoint.serving
    case 'any':
      return true
    default:
      return standard satisfies never
  }
}

/** Shutting down, but still answering: better than nothing when nothing else is left. */
function isLeaving(endpoint: Candidate): boolean {
  return !endpoint.ready && endpoint.serving && endpoint.terminating
}

function isNear(endpoint: Candidate, topology: TopologyMode, place: Place): boolean {
  switch (topology) {
    case 'none':
      return true
    case 'PreferSameNode':
      return endpoint.nodeHints.includes(place.nodeName)
    case 'PreferSameZone':
      return endpoint.zoneHints.includes(place.zone)
    default:
      return topology satisfies never
  }
}

/** Hints count only when every endpoint that could serve carries them and some such endpoint is meant for us. */
function topologyMode(
  endpoints: readonly Candidate[],
  standard: Standard,
  rank: number,
  { nodeName, zone }: Place,
): TopologyMode {
  let everyHasNodeHint = true
  let everyHasZoneHint = true
  let someForThisNode = false
  let someForThisZone = false
  for (const endpoint of endpoints) {
    if (!isFit(endpoint, standard) || rankOf(endpoint) < rank) continue
    const { nodeHints, zoneHints } = endpoint
    everyHasNodeHint &&= nodeHints.length > 0
    everyHasZoneHint &&= zoneHints.length > 0
    someForThisNode ||= nodeHints.includes(nodeName)
    someForThisZone ||= zoneHints.includes(zone)
  }
  if (everyHasNodeHint && someForThisNode) return 'PreferSameNode'
  if (everyHasZoneHint && someForThisZone) return 'PreferSameZone'
  return 'none'
}

export function union<E>(endpoints: readonly E[], left: readonly E[], right: readonly E[]): readonly E[] {
  const members = new Set([...left, ...right])
  return keep(endpoints, (endpoint) => members.has(endpoint))
}

/** Filters, but gives the same list back when all of it stays: most Services need no second list. */
function keep<E>(endpoints: readonly E[], wanted: (endpoint: E) => boolean): readonly E[] {
  const kept = endpoints.filter(wanted)
  return kept.length === endpoints.length ? endpoints : kept.length === 0 ? none : kept
}
