/** In which order routes are programmed where a mode programs in steps. */
import type { Route, RouteKey } from '../route.ts'

export interface PendingRoute {
  readonly key: RouteKey
  /** Undefined when the route is gone. */
  readonly route: Route | undefined
  /** Traffic may still go to an endpoint that is gone: this cannot wait. */
  readonly isRemoval: boolean
}

/** What the rest of a node needs before it can do anything else: the API server, and names. */
const vitalServices = [
  'default/kubernetes',
  'kube-system/kube-dns',
  'kube-system/coredns',
  'openshift-dns/dns-default',
].flatMap((service) => [`${service}:`, `${service}/`])

/** Removals, then what everything else depends on, then the rest by name. With `all`, every other route follows. */
export function programmingOrder(
  pending: readonly PendingRoute[],
  all: ReadonlyMap<RouteKey, Route> | undefined,
): readonly RouteKey[] {
  // Most syncs are for one route, for which clients wait, and have nothing to sort.
  if (all === undefined && pending.length < 2) return pending.map(({ key }) => key)
  const rankByKey = new Map<RouteKey, number>()
  for (const key of all?.keys() ?? []) rankByKey.set(key, isVital(key) ? 1 : 2)
  for (const { key, route, isRemoval } of pending)
    rankByKey.set(key, route === undefined || isRemoval ? 0 : isVital(key) ? 1 : 2)
  return [...rankByKey]
    .sort(([leftKey, left], [rightKey, right]) => left - right || (leftKey < rightKey ? -1 : 1))
    .map(([key]) => key)
}

/** Whether traffic that the old route allows would reach an endpoint that the new one no longer offers. */
export function losesEndpoint(old: Route, now: Route | undefined): boolean {
  const kept = new Set(now?.reachableEndpoints.map(({ address }) => address))
  return old.reachableEndpoints.some(({ address }) => !kept.has(address))
}

function isVital(key: RouteKey): boolean {
  return vitalServices.some((prefix) => key.startsWith(prefix))
}
