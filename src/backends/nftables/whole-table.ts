/** Everything at once: for the first sync, after a failure, and to repair what others broke. */
import type { NodeView } from '../../core/backend.ts'
import type { RouteKey } from '../../core/route.ts'
import type { FoundElement, NftOperation, NftTransaction, TableListing } from '../../dataplane/nft/nft.ts'
import { writeChain, writeSticky } from './chain-operations.ts'
import { containersOf } from './containers.ts'
import type { ContainerName } from './containers.ts'
import { ElementEdits } from './element-edits.ts'
import { fixedChains } from './fixed-chains.ts'
import type { NftablesState } from './settings.ts'
import { pickChain } from './pick-chains.ts'
import type { PickChain } from './pick-chains.ts'
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
 * All chains and sets with all rules. Sets keep their elements, so this changes nothing for packets unless the rules
 * were damaged, or come from other settings.
 */
export function structureOf({ plan }: WholeTable): NftTransaction {
  const { settings } = plan
  const { family } = settings
  const operations: NftOperation[] = [{ do: 'add table', comment: tableComment }]
  for (const set of Object.values(containersOf(family))) operations.push({ do: 'add set', set })
  for (const chain of fixedChains(settings)) operations.push(...writeChain(chain, family))
  for (const chain of plan.pickChains.toSorted(byPrerequisite))
    operations.push(...writeChain(pickChain(chain, settings), family))
  for (const key of plan.stickyKeys) operations.push(...writeSticky(plan.planOf(key).sticky, family))
  return operations
}

/** The table as it shall be, whatever it is now. All in one transaction: packets see no gap. */
export function replacement(whole: WholeTable): NftTransaction {
  return [
    { do: 'add table', comment: '' },
    { do: 'delete table' },
    ...structureOf(whole),
    ...elementRepairs(whole, new Map()).operations(containersOf(whole.plan.settings.family)),
  ]
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

/** What the table has and the structure has not: of an earlier run, or of somebody else. */
export function strangersIn(
  { chains, sets }: Pick<TableListing, 'chains' | 'sets'>,
  structure: NftTransaction,
): Strangers {
  const own = new Set<string>()
  for (const operation of structure) {
    if (operation.do === 'add chain') own.add(operation.chain.name)
    if (operation.do === 'add set') own.add(operation.set.name)
  }
  return { chains: chains.filter((name) => !own.has(name)), sets: sets.filter((name) => !own.has(name)) }
}

function byPrerequisite(left: PickChain, right: PickChain): number {
  return Number(left.kind !== 'pick') - Number(right.kind !== 'pick')
}
