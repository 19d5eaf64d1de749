import { isSameList, isSameRecord } from '../same-data.ts'
import type { FieldRules } from '../same-data.ts'
import type { Endpoint, Entrance, Outcome, Route, Treatment } from '../route.ts'

/** Compares the endpoints once: all other lists are parts of that one, so there an address is enough. */
export function isSameRoute(left: Route | undefined, right: Route | undefined): boolean {
  if (left === undefined || right === undefined || left === right) return left === right
  return isSameRecord(left, right, routeRules)
}

/** Where it leads to follows from the policy. */
const treatmentRules: FieldRules<Treatment> = { inside: leadsAlike, outside: leadsAlike }

const routeRules: FieldRules<Route> = {
  clusterEndpoints: hasSameAddresses,
  localEndpoints: hasSameAddresses,
  reachableEndpoints: hasSameAddresses,
  internal: treatsAlike,
  external: treatsAlike,
  entrances: areSameEntrances,
  ranges: areSameEntrances,
}

function hasSameAddresses(left: readonly Endpoint[], right: readonly Endpoint[]): boolean {
  return isSameList(left, right, (one, other) => one.address === other.address)
}

function treatsAlike(left: Treatment, right: Treatment): boolean {
  return isSameRecord(left, right, treatmentRules)
}

function areSameEntrances(left: readonly Entrance[], right: readonly Entrance[]): boolean {
  return isSameList(left, right, treatsAlike)
}

function leadsAlike(left: Outcome, right: Outcome): boolean {
  return left.kind === right.kind && left.policy === right.policy
}
