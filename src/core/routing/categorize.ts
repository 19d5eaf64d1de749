/**
 * Which endpoints may serve which traffic on this node: readiness, termination, traffic policies and topology hints,
 * decided here and nowhere else.
 */
import type { Endpoint, TopologyMode } from '../route.ts'

/** Addresses and ports do not matter here. */
export type Candidate = Pick<Endpoint, 'isLocal' | 'ready' | 'serving' | 'terminating' | 'zoneHints' | 'nodeHints'>

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

export function categorize<E extends Candidate>(endpoints: readonly E[], wants: Wants, place: Place): Categorized<E> {
  const topology = wants.clusterEndpoints ? topologyMode(endpoints, place) : 'none'
  const cluster = wants.clusterEndpoints ? clusterEndpoints(endpoints, topology, place) : none
  if (!wants.localEndpoints)
    return { cluster, local: none, reachable: cluster, hasUsable: cluster.length > 0, topology }

  const hasUsable = endpoints.some((endpoint) => endpoint.ready || isLeaving(endpoint))
  const localReady = keep(endpoints, (endpoint) => endpoint.isLocal && endpoint.ready)
  const local = localReady.length > 0 ? localReady : keep(endpoints, (it) => it.isLocal && isLeaving(it))
  const usesLeavingLocal = localReady.length === 0 && local.length > 0
  const reachable = !wants.clusterEndpoints
    ? local
    : topology === 'none' && !usesLeavingLocal
      ? cluster // every local endpoint is among them
      : union(endpoints, cluster, local)
  return { cluster, local, reachable, hasUsable, topology }
}

/** Shutting down, but still answering: better than nothing when nothing else is left. */
function isLeaving(endpoint: Candidate): boolean {
  return !endpoint.ready && endpoint.serving && endpoint.terminating
}

function clusterEndpoints<E extends Candidate>(
  endpoints: readonly E[],
  topology: TopologyMode,
  place: Place,
): readonly E[] {
  const near = keep(endpoints, (endpoint) => endpoint.ready && isNear(endpoint, topology, place))
  // Hints say where healthy traffic should go; they do not apply to the last resort.
  return near.length > 0 ? near : keep(endpoints, (endpoint) => endpoint.serving && endpoint.terminating)
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

/** Those that hints mean for this place; all of them where hints do not count. They must be ready. */
export function narrow<E extends Candidate>(
  ready: readonly E[],
  place: Place,
): { readonly near: readonly E[]; readonly topology: TopologyMode } {
  const topology = topologyMode(ready, place)
  return { near: keep(ready, (endpoint) => isNear(endpoint, topology, place)), topology }
}

/** Hints count only when every ready endpoint carries them and some ready endpoint is meant for us. */
function topologyMode(endpoints: readonly Candidate[], { nodeName, zone }: Place): TopologyMode {
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
function keep<E>(endpoints: readonly E[], wanted: (endpoint: E) => boolean): readonly E[] {
  const kept = endpoints.filter(wanted)
  return kept.length === endpoints.length ? endpoints : kept.length === 0 ? none : kept
}
