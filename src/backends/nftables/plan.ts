/**
 * What the table holds, or shall hold: the routes behind it, which of them has which element, and which shared chains are
 * in use. The elements themselves are not kept: they follow from the routes, and are worked out again when a route changes.
 */
import type { NodeView } from '../../core/backend.ts'
import type { Route, RouteKey } from '../../core/route.ts'
import { VersionedMap } from '../../core/versioned-map.ts'
import { OwnersDraft } from './element-owners.ts'
import type { ElementOwners } from './element-owners.ts'
import type { NodeAddresses } from './node-elements.ts'
import { pickChainName } from './pick-chains.ts'
import type { PickChain } from './pick-chains.ts'
import { emptyRoutePlan, planRoute } from './route-plan.ts'
import type { RoutePlan } from './route-plan.ts'
import type { NftablesSettings, NftablesState } from './settings.ts'

export interface NftablesPlan {
  readonly settings: NftablesSettings
  readonly node: NodeAddresses
  readonly routesByKey: VersionedMap<RouteKey, Route>
  readonly owners: ElementOwners
  readonly pickChainsByName: VersionedMap<string, SharedPickChain>
  /** How many routes have ranges of ports: the table has sets and rules for them as long as some do. */
  readonly rangedRoutes: number
  /** Chains that nothing leads to, and that are still to be deleted. */
  readonly unusedChains: readonly string[]
}

export interface SharedPickChain {
  readonly chain: PickChain
  /** How many routes use it. */
  readonly users: number
}

export function planNftables(view: NodeView, { settings, nodePortIps }: NftablesState): NftablesPlan {
  const owners = new OwnersDraft()
  const pickChainsByName = new Map<string, SharedPickChain>()
  let rangedRoutes = 0
  for (const [key, route] of view.routesByKey) {
    const { elements, pickChains } = planRoute(route, settings)
    owners.add(key, elements)
    for (const chain of pickChains) addUser(pickChainsByName, chain)
    rangedRoutes += rangedCount(route)
  }
  return {
    settings,
    node: { nodePortIps, serviceCidrs: view.serviceCidrs },
    routesByKey: new VersionedMap(new Map(view.routesByKey)),
    owners: owners.finish(),
    pickChainsByName: new VersionedMap(pickChainsByName),
    rangedRoutes,
    unusedChains: [],
  }
}

export function routePlanIn({ routesByKey, settings }: NftablesPlan, key: RouteKey): RoutePlan {
  const route = routesByKey.get(key)
  return route === undefined ? emptyRoutePlan : planRoute(route, settings)
}

/** For adding up. */
export function rangedCount(route: Route | undefined): 0 | 1 {
  return route?.ranges === undefined ? 0 : 1
}

function addUser(pickChainsByName: Map<string, SharedPickChain>, chain: PickChain): void {
  const name = pickChainName(chain)
  pickChainsByName.set(name, { chain, users: (pickChainsByName.get(name)?.users ?? 0) + 1 })
}
