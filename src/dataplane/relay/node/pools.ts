/** The pools in use: each lives as long as a listener holds it. */
import { Gates } from './gate.ts'
import { Pool } from './pool.ts'
import type { RelayParts } from './relay-parts.ts'
import type { PoolSpec } from '../relay.ts'

export class Pools {
  readonly #parts: RelayParts
  readonly #gates = new Gates()
  readonly #heldById = new Map<string, { readonly pool: Pool; holders: number }>()

  constructor(parts: RelayParts) {
    this.#parts = parts
  }

  get size(): number {
    return this.#heldById.size
  }

  get(id: string): Pool | undefined {
    return this.#heldById.get(id)?.pool
  }

  /** The pool of that id, which now has the contents of the spec. Endpoints are counted in the cells, if there are. */
  acquire(spec: PoolSpec, cells?: readonly Float64Array[]): Pool {
    const held = this.#heldById.get(spec.id)
    if (held !== undefined) {
      held.holders++
      held.pool.update(spec, cells)
      return held.pool
    }
    const pool = new Pool(spec, this.#parts, this.#gates, cells)
    this.#heldById.set(spec.id, { pool, holders: 1 })
    return pool
  }

  release(pool: Pool): void {
    const held = this.#heldById.get(pool.id)
    if (held === undefined) return
    held.holders--
    if (held.holders > 0) return
    this.#heldById.delete(pool.id)
    held.pool.close()
  }
}
