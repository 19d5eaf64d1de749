/** The smallest change that leads from what the table holds to what some changed routes want. */
import type { Route, RouteKey } from '../../core/route.ts'
import { isSameData } from '../../core/same-data.ts'
import type { NftOperation, NftTransaction } from '../../dataplane/nft/nft.ts'
import { writeChain, writePickChains } from './chain-operations.ts'
import { containersIn, containersOf } from './containers.ts'
import { ElementChanges, elementId, elementsById } from './element-changes.ts'
import { editOwners } from './element-owners.ts'
import type { OwnersEdit } from './element-owners.ts'
import { chainsThatChange } from './fixed-chains.ts'
import { nodeElements } from './node-elements.ts'
import type { NodeAddresses } from './node-elements.ts'
import type { OwnChains } from './own-chains.ts'
import { pickChainName } from './pick-chains.ts'
import type { PickChain } from './pick-chains.ts'
import { rangedCount, routePlanIn } from './plan.ts'
import type { NftablesPlan, SharedPickChain } from './plan.ts'
import { emptyRoutePlan, planRoute } from './route-plan.ts'
import type { PlannedElement, RoutePlan } from './route-plan.ts'
import type { NftablesSettings } from './settings.ts'
import { chainsAddedBy, transactionsOf } from './table-change.ts'
import type { TableChange } from './table-change.ts'
import { shapeOf } from './table-shape.ts'
import type { TableShape } from './table-shape.ts'

export interface NftablesEdit {
  /** To be committed one after the other. Elements of routes are deleted in none but the last one. */
  readonly transactions: readonly NftTransaction[]
  /** What the table holds then. */
  readonly after: NftablesPlan
}

/** `routes` are those that changed; undefined for one that is gone. */
export function editNftables(
  before: NftablesPlan,
  routes: ReadonlyMap<RouteKey, Route | undefined>,
  node: NodeAddresses,
): NftablesEdit {
  const { settings } = before
  const shapeBefore = shapeOf(before)
  const changed: readonly ChangedRoute[] = Array.from(routes, ([key, route]) => ({
    key,
    before: routePlanIn(before, key),
    after: route === undefined ? emptyRoutePlan : planRoute(route, settings),
  }))
  const pickChains = editPickChains(before, changed)
  const own = changed.map((route) => editOwn(route.before.own, route.after.own))
  const owners = editOwners(
    before.owners,
    changed.map((route) => ({ key: route.key, before: route.before.elements, after: route.after.elements })),
  )
  const rangedRoutes = countRanged(before, routes)
  const shapeAfter = shapeOf({ settings, node, owners: owners.after, rangedRoutes })
  const shape = editShape(settings, shapeBefore, shapeAfter, pickChains.unused)
  const elements = new ElementChanges()
  if (!isSameData(before.node, node)) elements.replaceAll(nodeElements(before.node), nodeElements(node))
  replaceElements(elements, before, changed, owners)
  const { structure, lookups } = writePickChains(pickChains.added, settings)
  const change: TableChange = {
    structure: [...shape.structure, ...structure],
    lookups,
    own: own.flatMap(({ additions }) => additions),
    elements: [
      ...elements.operations(containersOf(settings)),
      ...own.flatMap(({ removals }) => removals),
      ...shape.removals,
    ],
  }
  const unusedChains = new Set([
    ...before.unusedChains,
    ...pickChains.unused,
    ...own.flatMap(({ unusedChains: names }) => names),
  ])
  for (const name of chainsAddedBy(change)) unusedChains.delete(name)
  return {
    transactions: transactionsOf(change, 'same rules'),
    after: {
      settings,
      node,
      routesByKey: before.routesByKey.with(routes),
      owners: owners.after,
      pickChainsByName: before.pickChainsByName.with(pickChains.changes),
      rangedRoutes,
      unusedChains: [...unusedChains],
    },
  }
}

interface ChangedRoute {
  readonly key: RouteKey
  readonly before: RoutePlan
  readonly after: RoutePlan
}

interface PickChainsEdit {
  readonly changes: ReadonlyMap<string, SharedPickChain | undefined>
  /** Each after those that it leads to. */
  readonly added: readonly PickChain[]
  readonly unused: readonly string[]
}

function editPickChains({ pickChainsByName }: NftablesPlan, changed: readonly ChangedRoute[]): PickChainsEdit {
  const drafts = new Map<string, SharedPickChain>()
  const count = (chain: PickChain, step: 1 | -1): void => {
    const name = pickChainName(chain)
    const users = (drafts.get(name) ?? pickChainsByName.get(name))?.users ?? 0
    drafts.set(name, { chain, users: users + step })
  }
  for (const { before, after } of changed) {
    for (const chain of before.pickChains) count(chain, -1)
    for (const chain of after.pickChains) count(chain, 1)
  }
  const changes = new Map<string, SharedPickChain | undefined>()
  const unused: string[] = []
  for (const [name, shared] of drafts) {
    changes.set(name, shared.users === 0 ? undefined : shared)
    if (shared.users === 0 && pickChainsByName.has(name)) unused.push(name)
  }
  const added = new Map(
    changed
      .flatMap(({ after }) => after.pickChains)
      .map((chain) => [pickChainName(chain), chain] as const)
      .filter(([name]) => !pickChainsByName.has(name)),
  )
  return { changes, added: [...added.values()], unused }
}

function countRanged(
  { routesByKey, rangedRoutes }: NftablesPlan,
  routes: ReadonlyMap<RouteKey, Route | undefined>,
): number {
  let after = rangedRoutes
  for (const [key, route] of routes) after += rangedCount(route) - rangedCount(routesByKey.get(key))
  return after
}

interface ShapeEdit {
  readonly structure: readonly NftOperation[]
  /** Once the elements are gone. */
  readonly removals: readonly NftOperation[]
}

/** The first that needs them brings sets and rules, and the last one takes them away. */
function editShape(
  settings: NftablesSettings,
  before: TableShape,
  after: TableShape,
  unusedPickChains: readonly string[],
): ShapeEdit {
  if (isSameData(before, after)) return { structure: [], removals: [] }
  const [old, now] = [containersIn(settings, before), containersIn(settings, after)]
  const leaving = old.filter((set) => !now.includes(set))
  return {
    structure: [
      ...now.filter((set) => !old.includes(set)).map((set): NftOperation => ({ do: 'add set', set })),
      ...chainsThatChange(settings, before, after).flatMap(writeChain),
    ],
    removals: [
      // Their rules hold on to the maps of endpoints.
      ...(leaving.length > 0 ? unusedPickChains : []).map((name): NftOperation => ({ do: 'flush chain', name })),
      ...leaving.map((set): NftOperation => ({ do: 'delete set', set })),
    ],
  }
}

interface OwnEdit {
  readonly additions: readonly NftOperation[]
  readonly removals: readonly NftOperation[]
  readonly unusedChains: readonly string[]
}

function editOwn(before: OwnChains, after: OwnChains): OwnEdit {
  const kept = new Set([...after.chains, ...after.sets].map(({ name }) => name))
  const unusedChains = before.chains.map(({ name }) => name).filter((name) => !kept.has(name))
  return {
    additions: [
      ...newOrChanged(before.sets, after.sets).map((set): NftOperation => ({ do: 'add set', set })),
      ...newOrChanged(before.chains, after.chains).flatMap(writeChain),
    ],
    removals: [
      // Their rules hold on to the sets of endpoints that are gone.
      ...unusedChains.map((name): NftOperation => ({ do: 'flush chain', name })),
      ...before.sets.filter(({ name }) => !kept.has(name)).map((set): NftOperation => ({ do: 'delete set', set })),
    ],
    unusedChains,
  }
}

function newOrChanged<T extends { readonly name: string }>(before: readonly T[], after: readonly T[]): readonly T[] {
  const byName = new Map(before.map((thing) => [thing.name, thing]))
  return after.filter((thing) => !isSameData(byName.get(thing.name), thing))
}

/** An element is what the plan of the route that has it says. */
function replaceElements(
  elements: ElementChanges,
  plan: NftablesPlan,
  changed: readonly ChangedRoute[],
  owners: OwnersEdit,
): void {
  // A route that did not change may get an element, or lose one, that it shares with one that did.
  const shared = new Map<RouteKey, Elements>()
  const sharedElementsOf = (key: RouteKey): Elements => {
    const known = shared.get(key) ?? elementsById(routePlanIn(plan, key).elements)
    shared.set(key, known)
    return known
  }
  const before = new Map(changed.map((route) => [route.key, elementsById(route.before.elements)]))
  const after = new Map(changed.map((route) => [route.key, elementsById(route.after.elements)]))
  for (const { from, to, ...element } of owners.elements) {
    const id = elementId(element)
    const elementOf = (owner: RouteKey | undefined, plans: ReadonlyMap<RouteKey, Elements>) =>
      owner === undefined ? undefined : (plans.get(owner) ?? sharedElementsOf(owner)).get(id)
    elements.replace(elementOf(from, before), elementOf(to, after))
  }
}

type Elements = ReadonlyMap<string, PlannedElement>
