/** Which Services have changed in some way that is shown. Nobody looks: nobody is asked to tell. */
import type { ObjectKey } from '../../../api/records.ts'
import { serviceKeyOf } from '../../../core/catalog.ts'
import type { CatalogEvent } from '../../../core/catalog.ts'
import { serviceOfRoute } from '../../../core/route.ts'
import type { NodeParts } from './node-parts.ts'

type Listener = (service: ObjectKey) => void

export class ServiceChanges {
  readonly #parts: Pick<NodeParts, 'catalog' | 'families' | 'notices'>
  readonly #listeners = new Set<Listener>()
  #endings: readonly (() => void)[] = []

  constructor(parts: Pick<NodeParts, 'catalog' | 'families' | 'notices'>) {
    this.#parts = parts
  }

  /** Returns the function that ends it. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener)
    if (this.#listeners.size === 1) this.#begin()
    return () => {
      if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return
      for (const end of this.#endings) end()
      this.#endings = []
    }
  }

  #begin(): void {
    const { catalog, families, notices } = this.#parts
    const tell = (service: ObjectKey) => {
      for (const listener of this.#listeners) listener(service)
    }
    this.#endings = [
      catalog.subscribe({ changed: (event) => tellOf(event, tell) }),
      notices.subscribe(tell),
      ...families.map((family) =>
        family.watchView((keys) => {
          for (const key of keys) tell(serviceOfRoute(key))
        }),
      ),
    ]
  }
}

/** A slice may move from one Service to another. */
function tellOf(event: CatalogEvent, tell: Listener): void {
  if (event.kind === 'Service') return tell(event.key)
  if (event.kind !== 'EndpointSlice') return
  if (event.previous !== undefined) tell(serviceKeyOf(event.previous))
  if (event.current !== undefined) tell(serviceKeyOf(event.current))
}
