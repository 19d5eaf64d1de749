/** Ids of traces and spans. Random bytes are asked for in bulk: one call per span would cost more than the span. */
import { randomFillSync } from 'node:crypto'

const poolBytes = 4096

export class RandomIds {
  readonly #pool = Buffer.allocUnsafe(poolBytes)
  readonly #fill: (pool: Buffer) => void
  #used = poolBytes

  constructor(fill: (pool: Buffer) => void = (pool) => randomFillSync(pool)) {
    this.#fill = fill
  }

  traceId(): string {
    return this.#take(16)
  }

  spanId(): string {
    return this.#take(8)
  }

  #take(bytes: number): string {
    if (this.#used + bytes > poolBytes) {
      this.#fill(this.#pool)
      this.#used = 0
    }
    const start = this.#used
    this.#used += bytes
    const id = this.#pool.toString('hex', start, this.#used)
    // Zero stands for "none" on the wire.
    return /^0+$/.test(id) ? this.#take(bytes) : id
  }
}
