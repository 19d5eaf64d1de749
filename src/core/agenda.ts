/** What is due when: one time for each thing. */
import type { Clock } from './clock.ts'

/** Timers count in 31 bits of milliseconds; a day is far below. */
const longestSleepMs = 24 * 60 * 60 * 1000

/** Things that are due almost together are done together. */
const coarsenessMs = 20

export class Agenda<K> {
  readonly #clock: Clock
  readonly #dueByThing = new Map<K, number>()
  #wakesAt = Infinity
  #wake: AbortController | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#dueByThing.size
  }

  has(thing: K): boolean {
    return this.#dueByThing.has(thing)
  }

  /** In so many milliseconds from now, and at no other time. */
  set(thing: K, inMs: number): void {
    const dueAt = this.#clock.monotonic() + inMs
    this.#dueByThing.set(thing, dueAt)
    if (dueAt < this.#wakesAt) this.#wake?.abort(woken)
  }

  delete(thing: K): void {
    this.#dueByThing.delete(thing)
  }

  /** Calls with each thing at its time, once: whoever wants it again sets it again. */
  async run(onDue: (thing: K) => void, signal: AbortSignal): Promise<void> {
    const stop = () => this.#wake?.abort(woken)
    signal.addEventListener('abort', stop)
    try {
      while (!signal.aborted) {
        const wake = (this.#wake = new AbortController())
        const waitMs = this.#takeDue(onDue)
        await this.#clock.sleep(Math.min(waitMs, longestSleepMs), wake.signal).catch((error: unknown) => {
          if (!wake.signal.aborted) throw error
        })
      }
    } finally {
      signal.removeEventListener('abort', stop)
      this.#wake = undefined
    }
  }

  /** Returns how long it is until the next one. */
  #takeDue(onDue: (thing: K) => void): number {
    const now = this.#clock.monotonic()
    const due = [...this.#dueByThing].filter(([, dueAt]) => dueAt <= now)
    for (const [thing] of due) this.#dueByThing.delete(thing)
    for (const [thing] of due) onDue(thing)
    this.#wakesAt = Infinity
    for (const dueAt of this.#dueByThing.values()) this.#wakesAt = Math.min(this.#wakesAt, dueAt)
    return Math.max(coarsenessMs, this.#wakesAt - now)
  }
}

/** Without a reason of ours each would get an exception with a stack. */
const woken = 'woken'
