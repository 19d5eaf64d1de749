/** The portals of all routes: what the chains shall hold. */
import type { Route, RouteKey } from '../../../core/route.ts'
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
  /** In the order of the chains: the kernel walks them, so what is asked for most stands first. */
  readonly portalsByKey: Map<RouteKey, PlannedPortal>
}

export function planPortal(route: Route, ports: RoutePorts, settings: PortalSettings): PlannedPortal {
  const rules = portalRules({ route, ports, settings })
  const shared = rules.map(({ table, chain, rule }) => ({ table, chain, rule: renderRule(rule) }))
  return { rendered: { shared, chains: [] } }
}
