/** Elements to be added and removed, collected by container, so that each container costs one operation. */
import type { NftOperation, SetElement } from '../../dataplane/nft/nft.ts'
import type { ContainerName, Containers } from './containers.ts'
import type { PlannedElement } from './route-plan.ts'

export class ElementChanges {
  readonly #removed = new Map<ContainerName, string[]>()
  readonly #added = new Map<ContainerName, SetElement[]>()

  add(element: PlannedElement): void {
    push(this.#added, element.container, toSetElement(element))
  }

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
    this.replaceAll(old?.companions ?? [], now?.companions ?? [])
  }

  replaceAll(old: readonly PlannedElement[], now: readonly PlannedElement[]): void {
    if (old.length === 0 && now.length === 0) return
    const before = elementsById(old)
    const after = elementsById(now)
    for (const [id, element] of before) if (!after.has(id)) this.replace(element, undefined)
    for (const [id, element] of after) this.replace(before.get(id), element)
  }

  /** An element gets another value by going and coming in one transaction. */
  operations(containers: Containers): readonly NftOperation[] {
    const operations: NftOperation[] = []
    for (const [name, keys] of this.#removed) operations.push({ do: 'delete elements', set: containers[name], keys })
    for (const [name, elements] of this.#added) operations.push({ do: 'add elements', set: containers[name], elements })
    return operations
  }
}

export function elementsById(elements: readonly PlannedElement[]): ReadonlyMap<string, PlannedElement> {
  return new Map(elements.map((element) => [elementId(element), element]))
}

export function elementId({ container, key }: Pick<PlannedElement, 'container' | 'key'>): string {
  return `${container} ${key}`
}

export function toSetElement({ key, value, comment }: PlannedElement): SetElement {
  if (comment === '') return value === '' ? { key } : { key, value }
  return value === '' ? { key, comment } : { key, value, comment }
}

function push<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}
