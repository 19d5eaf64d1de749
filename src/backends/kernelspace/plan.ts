/** What HNS shall hold for all routes, as far as the routes tell: data that nobody changes. */
import type { NodeView } from '../../core/backend.ts'
import type { RouteKey } from '../../core/route.ts'
import { VersionedMap } from '../../core/versioned-map.ts'
import type { Changes } from '../../core/versioned-map.ts'
import type { Frontend } from './owned-names.ts'
import { balancerKinds, ipsOf, needsEndpoint, planRoute } from './route-plan.ts'
import type { PlannedBalancer, RoutePlan } from './route-plan.ts'
import type { KernelspaceSettings } from './settings.ts'

export interface KernelspacePlan {
  readonly settings: KernelspaceSettings
  readonly routesByKey: VersionedMap<RouteKey, RoutePlan>
  /**
   * The routes that want a frontend; never empty. HNS has one of each, and the first claim gets it. The ports of a Service
   * share the health check of their load balancer.
   */
  readonly claimsByFrontend: VersionedMap<Frontend, readonly Claim[]>
  /** The routes to which an address matters. They own its endpoint together. */
  readonly keysByIp: VersionedMap<string, readonly RouteKey[]>
}

interface Claim {
  readonly key: RouteKey
  readonly balancer: PlannedBalancer
}

/** Routes in the order to program them. */
export function planKernelspace(
  view: NodeView,
  settings: KernelspaceSettings,
  order: Iterable<RouteKey> = view.routesByKey.keys(),
): KernelspacePlan {
  const routesByKey = new Map<RouteKey, RoutePlan>()
  const claimsByFrontend = new Map<Frontend, Claim[]>()
  const keysByIp = new Map<string, RouteKey[]>()
  for (const key of order) {
    const route = view.routesByKey.get(key)
    if (route === undefined || routesByKey.has(key)) continue
    const plan = planRoute(route, settings)
    routesByKey.set(key, plan)
    for (const balancer of plan.balancers) push(claimsByFrontend, balancer.frontend, { key, balancer })
    for (const ip of ipsOf(plan)) push(keysByIp, ip, key)
  }
  for (const claims of claimsByFrontend.values()) if (claims.length > 1) claims.sort(byPrecedence)
  return {
    settings,
    routesByKey: new VersionedMap(routesByKey),
    claimsByFrontend: new VersionedMap<Frontend, readonly Claim[]>(claimsByFrontend),
    keysByIp: new VersionedMap<string, readonly RouteKey[]>(keysByIp),
  }
}

/** The same with other routes. The cost follows the size of these routes. */
export function planWith(before: KernelspacePlan, routes: Changes<RouteKey, RoutePlan>): KernelspacePlan {
  return {
    settings: before.settings,
    claimsByFrontend: before.claimsByFrontend.with(changedClaims(before, routes)),
    keysByIp: before.keysByIp.with(changedKeys(before, routes)),
    routesByKey: before.routesByKey.with(routes),
  }
}

/** Some route uses an endpoint for the address. */
export function isNeeded({ keysByIp, routesByKey }: KernelspacePlan, ip: string): boolean {
  return (keysByIp.get(ip) ?? []).some((key) => {
    const route = routesByKey.get(key)
    return route !== undefined && needsEndpoint(route, ip)
  })
}

function changedClaims(
  { claimsByFrontend, routesByKey }: KernelspacePlan,
  routes: Changes<RouteKey, RoutePlan>,
): Changes<Frontend, readonly Claim[]> {
  const changed = new Map<Frontend, readonly Claim[] | undefined>()
  const current = (frontend: Frontend) =>
    (changed.has(frontend) ? changed.get(frontend) : claimsByFrontend.get(frontend)) ?? []
  for (const [key, route] of routes) {
    for (const { frontend } of routesByKey.get(key)?.balancers ?? []) {
      const others = current(frontend).filter((claim) => claim.key !== key)
      changed.set(frontend, others.length === 0 ? undefined : others)
    }
    for (const balancer of route?.balancers ?? [])
      changed.set(balancer.frontend, [...current(balancer.frontend), { key, balancer }].sort(byPrecedence))
  }
  return changed
}

function changedKeys(
  { keysByIp, routesByKey }: KernelspacePlan,
  routes: Changes<RouteKey, RoutePlan>,
): Changes<string, readonly RouteKey[]> {
  const changed = new Map<string, readonly RouteKey[] | undefined>()
  const current = (ip: string) => (changed.has(ip) ? changed.get(ip) : keysByIp.get(ip)) ?? []
  for (const [key, route] of routes) {
    const before = routesByKey.get(key)
    const had = before === undefined ? new Set<string>() : ipsOf(before)
    const has = route === undefined ? new Set<string>() : ipsOf(route)
    for (const ip of had) {
      if (has.has(ip)) continue
      const others = current(ip).filter((other) => other !== key)
      changed.set(ip, others.length === 0 ? undefined : others)
    }
    for (const ip of has) if (!had.has(ip)) changed.set(ip, [...current(ip), key])
  }
  return changed
}

function byPrecedence(left: Claim, right: Claim): number {
  const byKind = balancerKinds.indexOf(left.balancer.kind) - balancerKinds.indexOf(right.balancer.kind)
  if (byKind !== 0) return byKind
  return left.key < right.key ? -1 : 1
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}
