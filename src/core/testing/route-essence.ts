/** All of a Route that decides where a packet goes: for routes that came by different ways. */
import type { Endpoint, Entrance, Outcome, Route, Treatment } from '../route.ts'

/** KPNG's wire has neither the endpoints that nobody may use, nor the reasons of topology, nor the order of addresses. */
export function routeEssence({ endpoints: _endpoints, topology: _topology, ...route }: Route) {
  return {
    ...route,
    entrances: route.entrances.map(ofEntrance).sort(byText),
    ranges: route.ranges?.map(ofEntrance).sort(byText),
    internal: ofTreatment(route.internal),
    external: route.external && ofTreatment(route.external),
    clusterEndpoints: route.clusterEndpoints.map(addressAndPlace),
    localEndpoints: route.localEndpoints.map(addressAndPlace),
    reachableEndpoints: route.reachableEndpoints.map(addressAndPlace),
  }
}

function ofEntrance(entrance: Entrance) {
  const { allowed } = entrance
  return {
    ...entrance,
    ...ofTreatment(entrance),
    allowed: allowed && { ...allowed, ownAddresses: [...allowed.ownAddresses].sort() },
  }
}

function ofTreatment({ inside, outside, keepsSourceOf }: Treatment) {
  return { inside: ofOutcome(inside), outside: ofOutcome(outside), keepsSourceOf }
}

function ofOutcome(outcome: Outcome) {
  return outcome.kind === 'forward' ? { ...outcome, to: outcome.to.map(addressAndPlace) } : outcome
}

function addressAndPlace({ address, isLocal }: Endpoint): string {
  return `${address}${isLocal ? ' local' : ''}`
}

function byText(left: unknown, right: unknown): number {
  return JSON.stringify(left) < JSON.stringify(right) ? -1 : 1
}
