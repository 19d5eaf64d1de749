/** Everything at once: for the first sync, after a failure, and to repair what others broke. */
import type { NodeView } from '../../core/backend.ts'
import type { RouteKey } from '../../core/route.ts'
import type { FoundElement, NftOperation, NftTransaction, TableListing } from '../../dataplane/nft/nft.ts'
import { writeChain, writePickChains, writeSticky } from './chain-operations.ts'
import { containersOf } from './containers.ts'
import type { ContainerName } from './containers.ts'
import { ElementEdits } from './element-edits.ts'
import { fixedChains } from './fixed-chains.ts'
import { isForNode } from './node-plan.ts'
import type { NftablesState } from './settings.ts'
import type { Steps } from './steps.ts'
import type { PlannedElement } from './route-plan.ts'
import { TablePlan } from './table-plan.ts'
import type { Replacement } from './table-plan.ts'

/**
 * The number goes up when chains or sets of the same name get another meaning or type. A table of another layout is
 * replaced as a whole.
 */
export const tableComment = 'Fairlead: from Service addresses to endpoints (layout 1)'

export interface WholeTable {
  readonly plan: TablePlan
  readonly elements: Elements
}

type Elements = ReadonlyMap<ContainerName, ReadonlyMap<string, PlannedElement>>

export function planTable(
  { routesByKey, serviceCidrs }: NodeView,
  { settings, nodePortIps }: NftablesState,
  keys: Iterable<RouteKey> = routesByKey.keys(),
): WholeTable {
  const plan = new TablePlan(settings)
  const elements = new Map<ContainerName, Map<string, PlannedElement>>()
  const put = (element: PlannedElement) => {
    const byKey = elements.get(element.container)
    if (byKey === undefined) elements.set(element.container, new Map([[element.key, element]]))
    else byKey.set(element.key, element)
  }
  const add = ({ key: owner, after }: Replacement) => {
    for (const element of after.elements) {
      if (plan.owner(element) !== owner) continue
      // Somebody may have had it until now.
      const old = elements.get(element.container)?.get(element.key)
      for (const { container, key } of old?.companions ?? []) elements.get(container)?.delete(key)
      put(element)
      element.companions.forEach(put)
    }
  }
  add(plan.replaceNode({ nodePortIps, serviceCidrs }))
  for (const key of keys) add(plan.replaceRoute(key, routesByKey.get(key)))
  return { plan, elements }
}

/**
 * Everything, so that the table has it whatever it is now. Sets keep their elements, so rules that were right before
 * change nothing for packets.
 */
export function stepsFor({ plan }: WholeTable, elements: NftTransaction): Steps {
  const { settings } = plan
  const { family } = settings
  const { structure, lookups } = writePickChains(plan.pickChains, settings)
  return {
    structure: [
      { do: 'add table', comment: tableComment },
      ...Object.values(containersOf(family)).map((set): NftOperation => ({ do: 'add set', set })),
      ...fixedChains(settings).flatMap((chain) => writeChain(chain, family)),
      ...structure,
      // The rules for node ports need the addresses of the node at once.
      ...elements.filter(isForNode),
    ],
    lookups,
    sticky: [...plan.stickyKeys].flatMap((key) => writeSticky(plan.planOf(key).sticky, family)),
    elements: elements.filter((operation) => !isForNode(operation)),
  }
}

/** The table as it shall be, whatever it is now. All in one transaction: packets see no gap. */
export function replacement(whole: WholeTable): NftTransaction {
  const elements = elementRepairs(whole, new Map()).operations(containersOf(whole.plan.settings.family))
  const { structure, lookups, sticky, elements: rest } = stepsFor(whole, elements)
  return [{ do: 'add table', comment: '' }, { do: 'delete table' }, ...structure, ...lookups, ...sticky, ...rest]
}

/** What leads from the elements that were found to those that are wanted. */
export function elementRepairs(
  { elements }: WholeTable,
  found: ReadonlyMap<ContainerName, ReadonlyMap<string, FoundElement>>,
): ElementEdits {
  const edits = new ElementEdits()
  for (const [container, foundByKey] of found)
    for (const [key, { value }] of foundByKey)
      if (elements.get(container)?.get(key)?.value !== value) edits.remove(container, key)
  for (const [container, wantedByKey] of elements)
    for (const [key, element] of wantedByKey)
      if (found.get(container)?.get(key)?.value !== element.value) edits.add(element)
  return edits
}

export interface Strangers {
  readonly chains: readonly string[]
  readonly sets: readonly string[]
}

/** What the table has and the plan has not: of an earlier run, or of somebody else. */
export function strangersIn({ chains, sets }: Pick<TableListing, 'chains' | 'sets'>, steps: Steps): Strangers {
  const own = new Set<string>()
  for (const operation of [...steps.structure, ...steps.sticky]) {
    if (operation.do === 'add chain') own.add(operation.chain.name)
    if (operation.do === 'add set') own.add(operation.set.name)
  }
  return { chains: chains.filter((name) => !own.has(name)), sets: sets.filter((name) => !own.has(name)) }
}
