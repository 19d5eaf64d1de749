/** The portals of all routes: what the chains shall hold. */
import type { Route, RouteKey } from '../../../core/route.ts'
import { VersionedMap } from '../../../core/versioned-map.ts'
import type { RenderedRoute } from '../../../dataplane/iptables/language/rendered-rules.ts'
import { renderRule } from '../../../dataplane/iptables/language/render-rule.ts'
import type { RoutePorts } from './plan-listeners.ts'
import { portalRules } from './portal-rules.ts'
import type { PortalSettings } from './settings.ts'

export interface PlannedPortal {
  readonly rendered: RenderedRoute
}

export interface PortalPlan {
  readonly settings: PortalSettings
  readonly portalsByKey: VersionedMap<RouteKey, PlannedPortal>
}

/** In the order of the chains: the kernel walks them, so what is asked for most stands first. */
export function planPortals(
  keys: Iterable<RouteKey>,
  portalOf: (key: RouteKey) => PlannedPortal | undefined,
  settings: PortalSettings,
): PortalPlan {
  const portalsByKey = new Map<RouteKey, PlannedPortal>()
  for (const key of keys) {
    const portal = portalOf(key)
    if (portal !== undefined) portalsByKey.set(key, portal)
  }
  return { settings, portalsByKey: new VersionedMap(portalsByKey) }
}

export function planPortal(route: Route, ports: RoutePorts, settings: PortalSettings): PlannedPortal {
  const rules = portalRules({ route, ports, settings })
  const shared = rules.map(({ table, chain, rule }) => ({ table, chain, rule: renderRule(rule) }))
  return { rendered: { shared, chains: [] } }
}
