/**
 * Which endpoints may serve which traffic on this node: readiness, termination, traffic policies and topology hints,
 * decided here and nowhere else.
 */
import type { TrafficPolicy } from '../../api/records.ts'
import type { Endpoint, NonEmpty, TopologyMode } from '../route.ts'

/** Addresses and ports do not matter here. */
export type Candidate = Pick<
  Endpoint,
  'isLocal' | 'ready' | 'serving' | 'terminating' | 'zoneHints' | 'nodeHints' | 'weight'
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
  /** Its weight keeps new connections away, or this node cannot reach it, and others are there. */
  | 'weight 0'

export function categorize<E extends Candidate>(endpoints: readonly E[], wants: Wants, place: Place): Categorized<E> {
  const topology = wants.clusterEndpoints ? topologyMode(endpoints, place) : 'none'
  const cluster = wants.clusterEndpoints ? chosen(endpoints, clusterChoices(topology), place) : none
  if (!wants.localEndpoints)
    return { cluster, local: none, reachable: cluster, hasUsable: cluster.length > 0, topology }

  const hasUsable = endpoints.some((endpoint) => endpoint.ready || isLeaving(endpoint))
  const local = chosen(endpoints, localChoices, place)
  const [first] = local
  const isLastResort = first !== undefined && (!first.ready || first.weight === 0)
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
  readonly topology: TopologyMode
}

/** The first one that somebody passes counts. Hints say where healthy traffic should go, not where the last resort is. */
function clusterChoices(topology: TopologyMode): NonEmpty<Choice> {
  return [
    { standard: 'ready', policy: 'Cluster', topology },
    { standard: 'leaving', policy: 'Cluster', topology: 'none' },
  ]
}

const localChoices: NonEmpty<Choice> = [
  { standard: 'ready', policy: 'Local', topology: 'none' },
  { standard: 'leaving', policy: 'Local', topology: 'none' },
]

function chosen<E extends Candidate>(endpoints: readonly E[], choices: readonly Choice[], place: Place): readonly E[] {
  for (const choice of choices) {
    const passing = keep(endpoints, (endpoint) => whyUnused(endpoint, choice, place) === undefined)
    if (passing.length > 0) return undrained(passing)
  }
  return none
}

/** Those with a weight; all of them where nobody has one, because an endpoint that drains is better than none. */
export function undrained<E extends Pick<Endpoint, 'weight'>>(endpoints: readonly E[]): readonly E[] {
  const weighted = keep(endpoints, ({ weight }) => weight > 0)
  return weighted.length > 0 ? weighted : endpoints
}

/** By what the endpoints were judged that a policy uses on this node. */
export function choiceOf(endpoints: readonly Candidate[], policy: TrafficPolicy, place: Place): Choice {
  const choices = policy === 'Local' ? localChoices : clusterChoices(topologyMode(endpoints, place))
  const isUsed = (choice: Choice) => endpoints.some((it) => whyUnused(it, choice, place) === undefined)
  return choices.find(isUsed) ?? choices[0]
}

/** Undefined: it serves. */
export function whyUnused(endpoint: Candidate, choice: Choice, place: Place): WhyUnused | undefined {
  if (choice.policy === 'Local' && !endpoint.isLocal) return 'on another node'
  if (!isFit(endpoint, choice.standard)) {
    if (!endpoint.terminating) return 'not ready'
    return endpoint.serving ? 'terminating' : 'no longer serving'
  }
  if (isNear(endpoint, choice.topology, place)) return undefined
  return choice.topology === 'PreferSameNode' ? 'for another node' : 'for another zone'
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

/** Hints count only when every ready endpoint carries them and some ready endpoint is meant for us. */
export function topologyMode(endpoints: readonly Candidate[], { nodeName, zone }: Place): TopologyMode {
  let everyHasNodeHint = true
  let everyHasZoneHint = true
  let someForThisNode = false
  let someForThisZone = false
  for (const { ready, nodeHints, zoneHints } of endpoints) {
    if (!ready) continue
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
export function keep<E>(endpoints: readonly E[], wanted: (endpoint: E) => boolean): readonly E[] {
  const kept = endpoints.filter(wanted)
  return kept.length === endpoints.length ? endpoints : kept.length === 0 ? none : kept
}
