/** What is due when: one time for each thing. */
import { Alarm } from './alarm.ts'
import type { Clock } from './clock.ts'
import { DueHeap } from './due-heap.ts'
import type { Due } from './due-heap.ts'

/** Things that are due almost together are done together. */
const coarsenessMs = 20
/** So that a few things that move often are not sorted out each time. */
const mostOutdated = 100

export class Agenda<K> {
  readonly #clock: Clock
  readonly #dueByThing = new Map<K, Due<K>>()
  /** Also those that have got another time since, or none: they are passed over when their old time comes. */
  readonly #heap = new DueHeap<K>()
  readonly #alarm: Alarm
  #wakesAt = Infinity

  constructor(clock: Clock) {
    this.#clock = clock
    this.#alarm = new Alarm(clock)
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
    const due = { thing, dueAt }
    this.#dueByThing.set(thing, due)
    this.#heap.add(due)
    if (this.#heap.size > mostOutdated + 2 * this.size) this.#heap.keep((it) => this.#isCurrent(it))
    if (dueAt < this.#wakesAt) this.#alarm.ring()
  }

  delete(thing: K): void {
    this.#dueByThing.delete(thing)
  }

  /** Calls with each thing at its time, once: whoever wants it again sets it again. */
  async run(onDue: (thing: K) => void, signal: AbortSignal): Promise<void> {
    using alarm = this.#alarm
    const stop = () => alarm.ring()
    signal.addEventListener('abort', stop)
    try {
      while (!signal.aborted) {
        const lookAgainAt = this.#takeDue(onDue)
        // What was due may have ended it, before anybody could be rung.
        if (!signal.aborted) await alarm.wait(lookAgainAt)
      }
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  /** Returns when to look again. */
  #takeDue(onDue: (thing: K) => void): number {
    const now = this.#clock.monotonic()
    const due: K[] = []
    for (let next = this.#next(); next !== undefined && next.dueAt <= now; next = this.#next()) {
      this.#heap.take()
      this.#dueByThing.delete(next.thing)
      due.push(next.thing)
    }
    for (const thing of due) onDue(thing)
    this.#wakesAt = this.#next()?.dueAt ?? Infinity
    return Math.max(now + coarsenessMs, this.#wakesAt)
  }

  #next(): Due<K> | undefined {
    while (this.#heap.next !== undefined && !this.#isCurrent(this.#heap.next)) this.#heap.take()
    return this.#heap.next
  }

  #isCurrent(due: Due<K>): boolean {
    return this.#dueByThing.get(due.thing) === due
  }
}
