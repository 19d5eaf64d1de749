/** The whole ruleset for a view, as one restore input. */
import type { NodeView } from '../../core/backend.ts'
import type { Route, RouteKey } from '../../core/route.ts'
import { firewallChain, forwardChain, markMasqueradeChain, nodePortTail, postroutingChain } from './fixed-chains.ts'
import { renderRoute } from './rendered-route.ts'
import type { RenderedRoute } from './rendered-route.ts'
import { renderRule } from './render-rule.ts'
import { RestoreInput } from './restore-input.ts'
import type { IptablesSettings } from './settings.ts'
import { largeClusterEndpoints } from './settings.ts'
import { topChains } from './top-chains.ts'

/** What the tables shall hold. */
export interface IptablesPlan {
  readonly settings: IptablesSettings
  /** In the order of nat/KUBE-SERVICES: the kernel walks it, so what is asked for most stands first. */
  readonly routesByKey: ReadonlyMap<RouteKey, RenderedRoute>
}

export function planIptables(view: NodeView, settings: IptablesSettings, order?: Iterable<RouteKey>): IptablesPlan {
  const isLargeCluster = countEndpoints(view.routesByKey.values()) > largeClusterEndpoints
  const routesByKey = new Map<RouteKey, RenderedRoute>()
  for (const key of order ?? [...view.routesByKey.keys()].sort()) {
    const route = view.routesByKey.get(key)
    if (route !== undefined) routesByKey.set(key, renderRoute(route, { settings, isLargeCluster }))
  }
  return { settings, routesByKey }
}

export function countEndpoints(routes: Iterable<Route>): number {
  let count = 0
  for (const { endpoints } of routes) count += endpoints.length
  return count
}

/** Every chain of ours, emptied and filled. The jumps from the kernel's chains are not in it. */
export function writePlan(plan: IptablesPlan, input: RestoreInput): void {
  const { settings } = plan
  for (const chain of [topChains.services, topChains.externalServices]) input.declare('filter', chain)
  input.fill('filter', forwardChain(settings))
  for (const chain of [topChains.nodePorts, topChains.proxyFirewall]) input.declare('filter', chain)
  const firewall = firewallChain(settings)
  if (firewall !== undefined) input.fill('filter', firewall)
  for (const chain of [topChains.services, topChains.nodePorts]) input.declare('nat', chain)
  input.fill('nat', postroutingChain(settings))
  input.fill('nat', markMasqueradeChain(settings))
  for (const route of plan.routesByKey.values()) {
    for (const { table, chain, rule } of route.shared) input.append(table, chain, rule)
    for (const { name, rules } of route.chains) {
      input.declare('nat', name)
      for (const rule of rules) input.append('nat', name, rule)
    }
  }
  for (const rule of nodePortTail(settings)) input.append('nat', topChains.services, renderRule(rule))
}
