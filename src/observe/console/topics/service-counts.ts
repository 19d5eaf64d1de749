/** How many Services and endpoints there are, counted while somebody looks. */
import type { ObjectKey } from '../../../api/records.ts'
import type { Overview } from '../wire.ts'
import { endpointCounts, isWithoutEndpoints } from './endpoint-counts.ts'
import { nextTurn } from './next-turn.ts'
import type { NodeParts } from './node-parts.ts'

const servicesPerTurn = 1_000

interface Counted {
  readonly endpoints: number
  readonly isWithout: boolean
}

export class ServiceCounts {
  readonly #catalog: NodeParts['catalog']
  readonly #countedByService = new Map<ObjectKey, Counted>()
  #endpoints = 0
  #without = 0

  constructor({ catalog }: Pick<NodeParts, 'catalog'>) {
    this.#catalog = catalog
  }

  get counts(): Omit<Overview['counts'], 'routes'> {
    return {
      services: this.#catalog.services.size,
      endpoints: this.#endpoints,
      servicesWithoutEndpoints: this.#without,
    }
  }

  async countAll(signal: AbortSignal): Promise<void> {
    let left = servicesPerTurn
    for (const key of this.#catalog.services.keys()) {
      this.count(key)
      if (--left > 0) continue
      left = servicesPerTurn
      await nextTurn()
      if (signal.aborted) return
    }
  }

  /** Again, or for the last time. */
  count(key: ObjectKey): void {
    const before = this.#countedByService.get(key)
    const now = this.#countedNow(key)
    this.#endpoints += (now?.endpoints ?? 0) - (before?.endpoints ?? 0)
    this.#without += Number(now?.isWithout ?? false) - Number(before?.isWithout ?? false)
    if (now === undefined) this.#countedByService.delete(key)
    else this.#countedByService.set(key, now)
  }

  #countedNow(key: ObjectKey): Counted | undefined {
    const record = this.#catalog.services.get(key)
    if (record === undefined) return undefined
    const counts = endpointCounts(this.#catalog.slicesOf(key).values(), [])
    return { endpoints: counts.total, isWithout: isWithoutEndpoints(record, counts) }
  }
}
