import { isSameData } from '../same-data.ts'
import type { Endpoint, Entrance, Outcome, Route } from '../route.ts'

/** Compares the endpoints once: all other lists are parts of that one, so there an address is enough. */
export function isSameRoute(left: Route | undefined, right: Route | undefined): boolean {
  if (left === undefined || right === undefined || left === right) return left === right
  return isSameData(withAddresses(left), withAddresses(right))
}

function withAddresses(route: Route) {
  const { clusterEndpoints, localEndpoints, reachableEndpoints, internal, external, entrances, ranges } = route
  return {
    ...route,
    clusterEndpoints: addressesOf(clusterEndpoints),
    localEndpoints: addressesOf(localEndpoints),
    reachableEndpoints: addressesOf(reachableEndpoints),
    internal: brief(internal),
    external: external && brief(external),
    entrances: entrances.map(briefEntrance),
    ...(ranges !== undefined && { ranges: ranges.map(briefEntrance) }),
  }
}

function brief({ inside, outside, keepsSourceOf }: Route['internal']) {
  return { inside: kindAndPolicy(inside), outside: kindAndPolicy(outside), keepsSourceOf }
}

/** Nearly always what happens there is that of `internal` or `external`. */
function briefEntrance(entrance: Entrance) {
  const { inside, outside, ...place } = entrance
  return { ...place, inside: kindAndPolicy(inside), outside: kindAndPolicy(outside) }
}

/** Where it leads to follows from the policy. */
function kindAndPolicy({ kind, policy }: Outcome) {
  return `${kind} ${policy}`
}

function addressesOf(endpoints: readonly Endpoint[]): readonly string[] {
  return endpoints.map(({ address }) => address)
}
