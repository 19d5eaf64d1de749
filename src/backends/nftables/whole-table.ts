/** Everything at once: for the first sync, after a failure, and to repair what others broke. */
import type {
  FoundElement,
  NftOperation,
  NftTransaction,
  SetDeclaration,
  TableListing,
} from '../../dataplane/nft/nft.ts'
import { writeChain, writeOwn, writePickChains } from './chain-operations.ts'
import { containersIn, containersOf } from './containers.ts'
import type { ContainerName } from './containers.ts'
import type { NftablesEdit } from './edit.ts'
import { ElementChanges } from './element-changes.ts'
import { ownerOf } from './element-owners.ts'
import { fixedChains } from './fixed-chains.ts'
import { isForNode, nodeElements } from './node-elements.ts'
import { noOwnChains } from './own-chains.ts'
import type { OwnChains } from './own-chains.ts'
import type { NftablesPlan } from './plan.ts'
import { planRoute } from './route-plan.ts'
import type { PlannedElement } from './route-plan.ts'
import type { NftablesSettings } from './settings.ts'
import { transactionsOf } from './table-change.ts'
import type { TableChange } from './table-change.ts'
import { shapeOf } from './table-shape.ts'

/**
 * The number goes up when chains or sets of the same name get another meaning or type. A table of another layout is
 * replaced as a whole.
 */
export function tableComment({ countsEndpoints = false }: Pick<NftablesSettings, 'countsEndpoints'>): string {
  return `Fairlead: from Service addresses to endpoints (layout 2${countsEndpoints ? ', endpoints counted' : ''})`
}

export interface FoundTable extends Pick<TableListing, 'chains' | 'sets'> {
  readonly elements: FoundElements
}

type FoundElements = ReadonlyMap<ContainerName, ReadonlyMap<string, FoundElement>>

/**
 * Brings a table of our layout to the plan, and writes only the elements that differ. Undefined: there is none yet.
 * Nobody has read its rules; who wrote them last says whether they are of other settings.
 */
export function repairTable(
  plan: NftablesPlan,
  found: FoundTable | undefined,
  rules: 'same rules' | 'other rules',
): NftablesEdit {
  const whole = wholeTable(plan)
  const change = changeOf(plan, whole, found?.elements ?? new Map())
  const knownSets = new Map<string, SetDeclaration>(Object.entries(containersOf(plan.settings)))
  const strangers = strangersIn(found ?? { chains: [], sets: [] }, change)
  const elements: NftTransaction = [
    ...change.elements,
    // With the elements that lead to them.
    ...strangers.chains.map((name): NftOperation => ({ do: 'flush chain', name })),
    ...strangers.sets.map((name): NftOperation => ({ do: 'delete set', set: knownSets.get(name) ?? { name } })),
  ]
  return {
    transactions: transactionsOf({ ...change, elements }, found === undefined ? 'nothing' : rules),
    after: { ...plan, unusedChains: strangers.chains },
  }
}

/** The table as it shall be, whatever it is now. All in one transaction: packets see no gap. */
export function replacement(plan: NftablesPlan): NftTransaction {
  const { structure, lookups, own, elements } = changeOf(plan, wholeTable(plan), new Map())
  return [{ do: 'add table', comment: '' }, { do: 'delete table' }, ...structure, ...lookups, ...own, ...elements]
}

export interface WholeTable {
  readonly elements: ReadonlyMap<ContainerName, readonly PlannedElement[]>
  readonly own: readonly OwnChains[]
}

export function wholeTable({ node, routesByKey, owners, settings }: NftablesPlan): WholeTable {
  const elements = new Map<ContainerName, PlannedElement[]>()
  const own: OwnChains[] = []
  const add = (element: PlannedElement): void => {
    const list = elements.get(element.container)
    if (list === undefined) elements.set(element.container, [element])
    else list.push(element)
    element.companions.forEach(add)
  }
  nodeElements(node).forEach(add)
  for (const [key, route] of routesByKey.entries()) {
    const plan = planRoute(route, settings)
    for (const element of plan.elements) if (ownerOf(owners, element) === key) add(element)
    if (plan.own !== noOwnChains) own.push(plan.own)
  }
  return { elements, own }
}

/** Sets keep their elements, so rules that were right before change nothing for packets. */
function changeOf(plan: NftablesPlan, whole: WholeTable, found: FoundElements): TableChange {
  const { settings, pickChainsByName } = plan
  const shape = shapeOf(plan)
  const containers = containersOf(settings)
  const elements = elementChanges(whole, found).operations(containers)
  const { structure, lookups } = writePickChains(
    pickChainsByName.values().map(({ chain }) => chain),
    settings,
  )
  return {
    structure: [
      { do: 'add table', comment: tableComment(settings) },
      ...containersIn(settings, shape).map((set): NftOperation => ({ do: 'add set', set })),
      ...fixedChains(settings, shape).flatMap(writeChain),
      ...structure,
      // The rules for node ports need the addresses of the node at once.
      ...elements.filter(isForNode),
    ],
    lookups,
    own: whole.own.flatMap(writeOwn),
    elements: elements.filter((operation) => !isForNode(operation)),
  }
}

/** From the elements that were found to those that are wanted. */
function elementChanges({ elements }: WholeTable, found: FoundElements): ElementChanges {
  const changes = new ElementChanges()
  for (const container of new Set([...found.keys(), ...elements.keys()])) {
    const wanted = elements.get(container) ?? []
    const foundByKey = found.get(container) ?? new Map<string, FoundElement>()
    let right = 0
    for (const element of wanted)
      if (foundByKey.get(element.key)?.value === element.value) right++
      else changes.add(element)
    // Most often all of them are right: then nobody looks for those to remove among hundreds of thousands.
    if (right === foundByKey.size) continue
    const valuesByKey = new Map(wanted.map(({ key, value }) => [key, value]))
    for (const [key, { value }] of foundByKey) if (valuesByKey.get(key) !== value) changes.remove(container, key)
  }
  return changes
}

/** What the table has and the plan has not: of an earlier run, or of somebody else. */
function strangersIn(
  { chains, sets }: Pick<TableListing, 'chains' | 'sets'>,
  { structure, own }: TableChange,
): Pick<TableListing, 'chains' | 'sets'> {
  const ours = new Set<string>()
  for (const operation of [...structure, ...own]) {
    if (operation.do === 'add chain') ours.add(operation.chain.name)
    if (operation.do === 'add set') ours.add(operation.set.name)
  }
  return { chains: chains.filter((name) => !ours.has(name)), sets: sets.filter((name) => !ours.has(name)) }
}
