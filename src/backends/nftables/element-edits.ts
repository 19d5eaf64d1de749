/** Which elements differ after some routes were replaced. */
import type { RouteKey } from '../../core/route.ts'
import type { NftOperation } from '../../dataplane/nft/nft.ts'
import type { Transfer } from './claims.ts'
import type { ContainerName, Containers } from './containers.ts'
import type { PlannedElement, RoutePlan } from './route-plan.ts'
import type { Replacement, TablePlan } from './table-plan.ts'

/** By container, so that each costs one operation. */
export class ElementEdits {
  readonly #removed = new Map<ContainerName, string[]>()
  readonly #added = new Map<ContainerName, PlannedElement[]>()

  remove(container: ContainerName, key: string): void {
    push(this.#removed, container, key)
  }

  /** With their companions. */
  replace(old: PlannedElement | undefined, now: PlannedElement | undefined): void {
    // A comment names the Service: it must not name one that has lost the address.
    if (old?.value !== now?.value || old?.comment !== now?.comment) {
      if (old !== undefined) this.remove(old.container, old.key)
      if (now !== undefined) this.add(now)
    }
    const before = indexed(old?.companions ?? [])
    const after = indexed(now?.companions ?? [])
    for (const [id, companion] of before) if (!after.has(id)) this.replace(companion, undefined)
    for (const [id, companion] of after) this.replace(before.get(id), companion)
  }

  add(element: PlannedElement): void {
    push(this.#added, element.container, element)
  }

  /** An element gets another value by going and coming in one transaction. */
  operations(containers: Containers): readonly NftOperation[] {
    const operations: NftOperation[] = []
    for (const [name, keys] of this.#removed) operations.push({ do: 'delete elements', set: containers[name], keys })
    for (const [name, elements] of this.#added)
      operations.push({ do: 'add elements', set: containers[name], elements: elements.map(toSetElement) })
    return operations
  }
}

export function editElements(
  plan: TablePlan,
  replacements: readonly Replacement[],
  transfers: readonly Transfer[],
): ElementEdits {
  const before = new PlanIndex(
    plan,
    replacements.map(({ key, before: old }) => [key, old]),
  )
  const after = new PlanIndex(
    plan,
    replacements.map(({ key, after: now }) => [key, now]),
  )
  const edits = new ElementEdits()
  for (const { container, key, from } of transfers) {
    const owner = plan.owner({ container, key })
    edits.replace(before.find(from, container, key), after.find(owner, container, key))
  }
  return edits
}

/** Finds an element in the plan of its owner. */
class PlanIndex {
  readonly #plan: TablePlan
  readonly #plans: ReadonlyMap<RouteKey, RoutePlan>
  readonly #elements = new Map<RouteKey, ReadonlyMap<string, PlannedElement>>()

  constructor(plan: TablePlan, replaced: readonly (readonly [RouteKey, RoutePlan])[]) {
    this.#plan = plan
    this.#plans = new Map(replaced)
  }

  find(owner: RouteKey | undefined, container: ContainerName, key: string): PlannedElement | undefined {
    return owner === undefined ? undefined : this.#elementsOf(owner).get(`${container} ${key}`)
  }

  #elementsOf(owner: RouteKey): ReadonlyMap<string, PlannedElement> {
    const known = this.#elements.get(owner)
    if (known !== undefined) return known
    // An owner that was not replaced shares the element with one that was: its plan is the same before and after.
    const { elements } = this.#plans.get(owner) ?? this.#plan.planOf(owner)
    const byId = indexed(elements)
    this.#elements.set(owner, byId)
    return byId
  }
}

function indexed(elements: readonly PlannedElement[]): ReadonlyMap<string, PlannedElement> {
  return new Map(elements.map((element) => [`${element.container} ${element.key}`, element]))
}

function toSetElement({ key, value, comment }: PlannedElement) {
  return { key, ...(value !== '' && { value }), ...(comment !== '' && { comment }) }
}

function push<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}
