/**
 * A Map that drops entries which have not been used for a while. It is in the order of last use, so the next one to
 * expire is always the first, and one sleep serves them all.
 */
import type { Clock } from '../../../core/clock.ts'

export interface IdleMapOptions<K, V> {
  readonly idleMs: number
  readonly clock: Clock
  /** Called after the entry has left the map. */
  onIdle(this: void, key: K, value: V): void
}

/** Entries that expire within this time of each other leave together. */
const coarsenessMs = 25

export class IdleMap<K, V> {
  readonly #options: IdleMapOptions<K, V>
  readonly #entries = new Map<K, { readonly value: V; usedAtMs: number }>()
  #sweep: AbortController | undefined

  constructor(options: IdleMapOptions<K, V>) {
    this.#options = options
  }

  get size(): number {
    return this.#entries.size
  }

  /** Restarts the idle time of the entry. */
  use(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    entry.usedAtMs = this.#options.clock.monotonic()
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  add(key: K, value: V): void {
    this.#entries.set(key, { value, usedAtMs: this.#options.clock.monotonic() })
    if (this.#sweep === undefined) void this.#sweepUntilEmpty((this.#sweep = new AbortController()))
  }

  remove(key: K): V | undefined {
    const entry = this.#entries.get(key)
    this.#entries.delete(key)
    if (this.#entries.size === 0) this.#sweep?.abort()
    return entry?.value
  }

  /** Least recently used first. */
  *entries(): IterableIterator<[K, V]> {
    for (const [key, { value }] of this.#entries) yield [key, value]
  }

  *values(): IterableIterator<V> {
    for (const { value } of this.#entries.values()) yield value
  }

  async #sweepUntilEmpty({ signal }: AbortController): Promise<void> {
    const { clock, idleMs } = this.#options
    try {
      for (let oldest = this.#oldestUse(); oldest !== undefined; oldest = this.#oldestUse()) {
        await clock.sleep(Math.max(coarsenessMs, oldest + idleMs - clock.monotonic()), signal)
        this.#expire()
      }
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      this.#sweep = undefined
    }
    // An entry may have been added between the abort and this line.
    if (this.#entries.size > 0) void this.#sweepUntilEmpty((this.#sweep = new AbortController()))
  }

  #oldestUse(): number | undefined {
    for (const { usedAtMs } of this.#entries.values()) return usedAtMs
    return undefined
  }

  #expire(): void {
    const { clock, idleMs, onIdle } = this.#options
    const expired = clock.monotonic() - idleMs
    for (const [key, { value, usedAtMs }] of this.#entries) {
      if (usedAtMs > expired) return
      this.#entries.delete(key)
      onIdle(key, value)
    }
  }
}
