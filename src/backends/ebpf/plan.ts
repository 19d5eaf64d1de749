/** What the tables hold for the routes of one family: data that nobody changes. */
import type { NodeView } from '../../core/backend.ts'
import type { RouteKey } from '../../core/route.ts'
import type { VersionedMap } from '../../core/versioned-map.ts'
import { socketRoute } from './frontends-of.ts'
import type { FrontendId, SocketRoute } from './frontends-of.ts'
import type { HeldFrontend, HeldService } from './held.ts'
import type { NodeState } from './settings.ts'

export interface SocketPlan {
  readonly node: NodeState
  readonly routesByKey: VersionedMap<RouteKey, PlacedRoute>
  readonly frontendsById: VersionedMap<FrontendId, HeldFrontend>
  /** Routes that the tables had no room for. */
  readonly withoutRoom: ReadonlySet<RouteKey>
}

export interface PlacedRoute {
  readonly route: SocketRoute
  /** Undefined: all of it is left to the packets. */
  readonly held: HeldService | undefined
}

/** What the routes of a view want of the tables. Undefined for one that is gone. */
export function planRoutes(
  { routesByKey }: Pick<NodeView, 'routesByKey'>,
  keys: Iterable<RouteKey>,
  { ownIps }: NodeState,
): ReadonlyMap<RouteKey, SocketRoute | undefined> {
  const isOfThisNode = (ip: string) => ownIps.has(ip)
  const planned = new Map<RouteKey, SocketRoute | undefined>()
  for (const key of keys) {
    const route = routesByKey.get(key)
    planned.set(key, route && socketRoute(route, isOfThisNode))
  }
  return planned
}
