/**
 * Connections that wait for room under a limit of their Service: in the order in which they came, so many, and for so long. Nobody
 * tells them when there is room: the line looks now and then.
 */
import type { Clock } from '../../../core/clock.ts'
import type { Full } from '../relay.ts'

const lookMs = 5
export const longestWaitMs = 5_000
const mostWaiting = 1_024

export interface Waiter<T> {
  readonly untilMs: number
  /** Whether there is nothing to wait for any more. */
  hasLeft(this: void): boolean
  attempt(this: void): T | Full
}

type Outcome<T> = T | Full | 'client-left'

export class WaitingLine<T extends object | undefined> {
  readonly #clock: Clock
  readonly #ending: AbortSignal
  #waiting: { readonly waiter: Waiter<T>; readonly resolve: (outcome: Outcome<T>) => void }[] = []
  /** What whoever asked last did not find room under. */
  #full: Full | undefined
  #isRunning = false

  constructor({ clock, ending }: { readonly clock: Clock; readonly ending: AbortSignal }) {
    this.#clock = clock
    this.#ending = ending
  }

  /** The limit that those in it wait for; undefined: nobody waits. */
  get waitsFor(): Full | undefined {
    return this.#waiting.length === 0 ? undefined : this.#full
  }

  get hasRoom(): boolean {
    return this.#waiting.length < mostWaiting
  }

  wait(waiter: Waiter<T>, full: Full): Promise<Outcome<T>> {
    this.#full = full
    return new Promise((resolve) => {
      this.#waiting.push({ waiter, resolve })
      if (!this.#isRunning) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#waiting.length > 0) {
      await this.#clock.sleep(lookMs, this.#ending).catch(() => {})
      this.#look()
    }
    this.#isRunning = false
  }

  #look(): void {
    const nowMs = this.#clock.monotonic()
    let full: Full | undefined
    const waiting = this.#waiting
    this.#waiting = waiting.filter(({ waiter, resolve }) => {
      if (waiter.hasLeft() || this.#ending.aborted) {
        resolve('client-left')
        return false
      }
      // Whoever is behind one who finds no room finds none either.
      const outcome = full ?? waiter.attempt()
      if (typeof outcome === 'string') full = outcome
      if (typeof outcome === 'string' && nowMs < waiter.untilMs) return true
      resolve(outcome)
      return false
    })
    this.#full = full ?? this.#full
  }
}
