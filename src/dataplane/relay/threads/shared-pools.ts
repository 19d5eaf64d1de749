/** The counters of all pools, in memory that the threads share. They live as long as a listener holds the pool. */
import { PoolCounters } from '../pool-counters.ts'
import type { EndpointCounts, PoolSpec } from '../relay.ts'

export class SharedPools {
  readonly #heldById = new Map<string, { readonly counters: PoolCounters; holders: number }>()

  get size(): number {
    return this.#heldById.size
  }

  /** Returns where each endpoint of the spec is counted. */
  acquire(spec: PoolSpec): readonly Float64Array[] {
    const held = this.#heldById.get(spec.id) ?? { counters: new PoolCounters(), holders: 0 }
    held.holders++
    this.#heldById.set(spec.id, held)
    return held.counters.updateShared(spec.endpoints)
  }

  release(id: string): void {
    const held = this.#heldById.get(id)
    if (held === undefined) return
    held.holders--
    if (held.holders === 0) this.#heldById.delete(id)
  }

  clear(): void {
    this.#heldById.clear()
  }

  /** The thread that relayed for it is gone, and its connections with it. */
  forgetActive(id: string): void {
    this.#heldById.get(id)?.counters.forgetActive()
  }

  counts(id: string): ReadonlyMap<string, EndpointCounts> {
    return this.#heldById.get(id)?.counters.snapshot() ?? new Map<string, EndpointCounts>()
  }
}
