/** Routes as pages show them: each endpoint once, and who may get it by address. */
import type { AllowedSources, Endpoint, Entrance, Outcome, Route, Treatment } from '../../../core/route.ts'
import type { ZonesByIp } from '../../../core/routing/endpoints.ts'
import { placeText } from '../../../core/routing/claim-texts.ts'

/** One line about a route. */
export function routeInShort(route: Route) {
  return {
    key: route.key,
    family: route.family,
    entrances: [...route.entrances, ...(route.ranges ?? [])].map(entranceName),
    endpoints: {
      listed: route.endpoints.length,
      reachable: route.reachableEndpoints.length,
      cluster: route.clusterEndpoints.length,
      local: route.localEndpoints.length,
    },
    outcome: {
      internal: treatmentInShort(route.internal),
      ...(route.external !== undefined && { external: treatmentInShort(route.external) }),
    },
  }
}

/** All of it. The zones of endpoints by their address: routes do not have them. */
export function routeInFull(route: Route, zones: ZonesByIp) {
  const { endpoints, clusterEndpoints, localEndpoints, reachableEndpoints, internal, external, ...others } = route
  const { entrances, ranges = [], ...rest } = others
  const reachable = new Set(reachableEndpoints)
  return {
    ...rest,
    entrances: [...entrances, ...ranges].map(({ kind, allowed, ...entrance }) => ({
      kind,
      at: entranceName({ kind, allowed, ...entrance } as Entrance),
      allowed: allowedSources(allowed),
      ...treatment(entrance),
    })),
    internal: treatment(internal),
    external: external === undefined ? undefined : treatment(external),
    endpoints: endpoints.map((endpoint) => ({
      ...endpoint,
      ...(zones.has(endpoint.ip) && { zone: zones.get(endpoint.ip) }),
      state: endpointState(endpoint),
      isReachable: reachable.has(endpoint),
    })),
    clusterEndpoints: addresses(clusterEndpoints),
    localEndpoints: addresses(localEndpoints),
  }
}

/** `ready`, or why it is not: what Kubernetes' conditions say, in one word or two. */
function endpointState({ ready, serving, terminating }: Endpoint): string {
  if (terminating) return serving ? 'terminating, serving' : 'terminating'
  if (ready) return 'ready'
  return serving ? 'serving, not ready' : 'not ready'
}

function entranceName(entrance: Entrance): string {
  return entrance.kind === 'node-port' ? `node-port ${entrance.port}` : `${entrance.kind} ${placeText(entrance)}`
}

/** `Everybody` is treated alike, unless it says otherwise. */
function treatmentInShort({ inside, outside }: Treatment): string {
  const [forInside, forOutside] = [outcomeInShort(inside), outcomeInShort(outside)]
  return forInside === forOutside ? forInside : `${forOutside}; from this node ${forInside}`
}

function outcomeInShort(outcome: Outcome): string {
  if (outcome.kind !== 'forward') return outcome.kind
  return `forward to ${outcome.to.length}`
}

function treatment({ inside, outside, keepsSourceOf }: Treatment) {
  return { inside: outcome(inside), outside: outcome(outside), keepsSourceOf }
}

function outcome(one: Outcome) {
  return one.kind === 'forward' ? { ...one, to: addresses(one.to) } : one
}

function allowedSources(allowed: AllowedSources | undefined) {
  return allowed ?? 'everybody'
}

function addresses(endpoints: readonly Endpoint[]): readonly string[] {
  return endpoints.map(({ address }) => address)
}
