/**
 * What the table holds, or shall hold: the routes behind it, who owns which element, and which chains are in use. The
 * elements themselves are not kept: they follow from the routes, and are worked out again when a route changes.
 */
import type { Route, RouteKey } from '../../core/route.ts'
import { Claims } from './claims.ts'
import type { Transfer } from './claims.ts'
import { nodeKey, planNode } from './node-plan.ts'
import type { NodeWishes } from './node-plan.ts'
import type { PickChain } from './pick-chains.ts'
import { pickChainName } from './pick-chains.ts'
import type { PlannedElement, RoutePlan } from './route-plan.ts'
import { planRoute } from './route-plan.ts'
import type { NftablesSettings } from './settings.ts'
import { noStickyChains } from './sticky-chains.ts'

/** How a route was programmed, and how it shall be. */
export interface Replacement {
  readonly key: RouteKey
  readonly before: RoutePlan
  readonly after: RoutePlan
}

export class TablePlan {
  readonly settings: NftablesSettings
  readonly #claims = new Claims()
  readonly #routesByKey = new Map<RouteKey, Route>()
  readonly #pickChainUses = new Map<string, { readonly chain: PickChain; uses: number }>()
  readonly #stickyKeys = new Set<RouteKey>()
  #node: NodeWishes = { nodePortIps: [], serviceCidrs: [] }

  constructor(settings: NftablesSettings) {
    this.settings = settings
  }

  planOf(key: RouteKey): RoutePlan {
    if (key === nodeKey) return planNode(this.#node)
    const route = this.#routesByKey.get(key)
    return route === undefined ? nothing : planRoute(route, this.settings)
  }

  replaceNode(node: NodeWishes): Replacement {
    const before = planNode(this.#node)
    this.#node = node
    return this.#replace(nodeKey, before, planNode(node))
  }

  /** Undefined: the route is gone. */
  replaceRoute(key: RouteKey, route: Route | undefined): Replacement {
    const before = this.planOf(key)
    if (route === undefined) this.#routesByKey.delete(key)
    else this.#routesByKey.set(key, route)
    return this.#replace(key, before, this.planOf(key))
  }

  owner({ container, key }: Pick<PlannedElement, 'container' | 'key'>): RouteKey | undefined {
    return this.#claims.owner(container, key)
  }

  /** The elements whose claims change while the work is done. */
  transfersDuring(work: () => void): readonly Transfer[] {
    return this.#claims.transfersDuring(work)
  }

  usesPickChain(name: string): boolean {
    return this.#pickChainUses.has(name)
  }

  /** The routes that need chains and sets of their own. */
  get stickyKeys(): Iterable<RouteKey> {
    return this.#stickyKeys
  }

  /** Not sorted. */
  get pickChains(): readonly PickChain[] {
    return [...this.#pickChainUses.values()].map(({ chain }) => chain)
  }

  #replace(key: RouteKey, before: RoutePlan, after: RoutePlan): Replacement {
    for (const element of before.elements) this.#claims.release(element.container, element.key, key)
    for (const chain of before.pickChains) this.#count(chain, -1)
    for (const element of after.elements) this.#claims.claim(element.container, element.key, key)
    for (const chain of after.pickChains) this.#count(chain, 1)
    if (after.sticky === noStickyChains) this.#stickyKeys.delete(key)
    else this.#stickyKeys.add(key)
    return { key, before, after }
  }

  #count(chain: PickChain, step: 1 | -1): void {
    const name = pickChainName(chain)
    const use = this.#pickChainUses.get(name) ?? { chain, uses: 0 }
    use.uses += step
    if (use.uses === 0) this.#pickChainUses.delete(name)
    else this.#pickChainUses.set(name, use)
  }
}

const nothing: RoutePlan = { elements: [], pickChains: [], sticky: noStickyChains }
