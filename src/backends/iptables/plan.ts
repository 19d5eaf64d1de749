/** What the tables shall hold for a view. A plan never changes; a changed copy costs as much as the change. */
import type { NodeView } from '../../core/backend.ts'
import type { Route, RouteKey } from '../../core/route.ts'
import { VersionedMap } from '../../core/versioned-map.ts'
import type { Changes } from '../../core/versioned-map.ts'
import type { Table } from '../../dataplane/iptables/language/kube-chains.ts'
import { renderRouteRules } from '../../dataplane/iptables/language/rendered-rules.ts'
import type { RenderedRoute, RouteRules } from '../../dataplane/iptables/language/rendered-rules.ts'
import { serviceChainNames } from './chain-names.ts'
import { fixedChains, nodePortTail } from './fixed-chains.ts'
import { serviceChains } from './service-chains.ts'
import type { ChainOptions } from './service-chains.ts'
import { largeClusterEndpoints } from './settings.ts'
import type { IptablesSettings } from './settings.ts'
import { sharedRules } from './shared-rules.ts'

export interface IptablesPlan {
  readonly settings: IptablesSettings
  /**
   * A fresh plan has them in the order of nat/KUBE-SERVICES: the kernel walks it, so what is asked for most comes first.
   * Apart from that the order says nothing, and a plan that was edited does not keep it.
   */
  readonly routesByKey: VersionedMap<RouteKey, PlannedRoute>
  readonly totals: Totals
}

export interface PlannedRoute {
  readonly route: Route
  readonly rendered: RenderedRoute
}

/** Of all routes together, so that one changed route does not cost a walk over all of them. */
interface Totals {
  readonly endpoints: number
  /** Rules, by table. */
  readonly filter: number
  readonly nat: number
}

export function planIptables(
  view: NodeView,
  settings: IptablesSettings,
  order: Iterable<RouteKey> = [...view.routesByKey.keys()].sort(),
): IptablesPlan {
  let endpoints = 0
  for (const route of view.routesByKey.values()) endpoints += route.endpoints.length
  const options = chainOptions(settings, endpoints)
  const routesByKey = new Map<RouteKey, PlannedRoute>()
  for (const key of order) {
    const route = view.routesByKey.get(key)
    if (route !== undefined) routesByKey.set(key, planRoute(route, options))
  }
  const totals = { endpoints: 0, filter: 0, nat: 0 }
  for (const planned of routesByKey.values()) count(totals, planned, 1)
  return { settings, routesByKey: new VersionedMap(routesByKey), totals }
}

export function planRoute(route: Route, options: ChainOptions): PlannedRoute {
  return { route, rendered: renderRouteRules(routeRules(route, options)) }
}

export function routeRules(route: Route, options: ChainOptions): RouteRules {
  const names = serviceChainNames(route)
  return { shared: sharedRules(route, names, options.settings), chains: serviceChains(route, names, options) }
}

/** For a node with this many endpoints. */
export function chainOptions(settings: IptablesSettings, endpoints: number): ChainOptions {
  return { settings, isLargeCluster: endpoints > largeClusterEndpoints }
}

/** The plan with some routes changed, or gone. */
export function withRoutes(plan: IptablesPlan, changes: Changes<RouteKey, PlannedRoute>): IptablesPlan {
  const totals = { ...plan.totals }
  for (const [key, planned] of changes) {
    count(totals, plan.routesByKey.get(key), -1)
    count(totals, planned, 1)
  }
  return { ...plan, routesByKey: plan.routesByKey.with(changes), totals }
}

/** Rules of ours in the table, also those that no Service asked for. */
export function ruleCount({ settings, totals }: IptablesPlan, table: Table): number {
  const tail = table === 'nat' ? nodePortTail(settings).length : 0
  const fixed = fixedChains(settings).filter((entry) => entry.table === table)
  return totals[table] + tail + fixed.reduce((sum, { chain }) => sum + chain.rules.length, 0)
}

function count(
  totals: { -readonly [key in keyof Totals]: number },
  planned: PlannedRoute | undefined,
  step: 1 | -1,
): void {
  if (planned === undefined) return
  const { route, rendered } = planned
  totals.endpoints += step * route.endpoints.length
  for (const { table } of rendered.shared) totals[table] += step
  for (const { ruleCount: own } of rendered.chains) totals.nat += step * own
}
