/**
 * Which routes want which elements. Several may want the same one: ports of a Service share its cluster IP, Services
 * share endpoints, and two Services may claim the same external address. The route whose key sorts first has its way,
 * so the outcome does not depend on the order of events.
 */
import type { RouteKey } from '../../core/route.ts'
import type { ContainerName } from './containers.ts'

/** An element whose claims changed, and who had it before. */
export interface Transfer {
  readonly container: ContainerName
  readonly key: string
  readonly from: RouteKey | undefined
}

export class Claims {
  /** A list only where several routes claim the element, sorted: there may be hundreds of thousands of elements. */
  readonly #byContainer = new Map<ContainerName, Map<string, RouteKey | RouteKey[]>>()
  /** By container and key. Undefined while nobody asks. */
  #transfers: Map<string, Transfer> | undefined

  owner(container: ContainerName, key: string): RouteKey | undefined {
    return first(this.#byContainer.get(container)?.get(key))
  }

  /** What changes hands, or may, while the work is done. */
  transfersDuring(work: () => void): readonly Transfer[] {
    const transfers = (this.#transfers = new Map<string, Transfer>())
    try {
      work()
    } finally {
      this.#transfers = undefined
    }
    return [...transfers.values()]
  }

  claim(container: ContainerName, key: string, route: RouteKey): void {
    const byKey = this.#in(container)
    const claimants = byKey.get(key)
    this.#note(container, key, claimants)
    if (claimants === undefined) byKey.set(key, route)
    else if (typeof claimants === 'object') claimants.splice(placeOf(route, claimants), 0, route)
    else byKey.set(key, claimants < route ? [claimants, route] : [route, claimants])
  }

  release(container: ContainerName, key: string, route: RouteKey): void {
    const byKey = this.#in(container)
    const claimants = byKey.get(key)
    this.#note(container, key, claimants)
    if (typeof claimants !== 'object') {
      byKey.delete(key)
      return
    }
    claimants.splice(claimants.indexOf(route), 1)
    const [only] = claimants
    if (claimants.length === 1 && only !== undefined) byKey.set(key, only)
  }

  #note(container: ContainerName, key: string, claimants: RouteKey | RouteKey[] | undefined): void {
    if (this.#transfers === undefined) return
    const id = `${container} ${key}`
    if (!this.#transfers.has(id)) this.#transfers.set(id, { container, key, from: first(claimants) })
  }

  #in(container: ContainerName): Map<string, RouteKey | RouteKey[]> {
    const known = this.#byContainer.get(container)
    if (known !== undefined) return known
    const byKey = new Map<string, RouteKey | RouteKey[]>()
    this.#byContainer.set(container, byKey)
    return byKey
  }
}

function first(claimants: RouteKey | readonly RouteKey[] | undefined): RouteKey | undefined {
  return typeof claimants === 'object' ? claimants[0] : claimants
}

function placeOf(route: RouteKey, sorted: readonly RouteKey[]): number {
  const at = sorted.findIndex((other) => route < other)
  return at < 0 ? sorted.length : at
}
