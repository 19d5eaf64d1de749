/** A clock that stands still until a test moves it. */
import type { Clock } from '../clock.ts'

interface Sleeper {
  readonly wakesAt: number
  wake(): void
}

export class FakeClock implements Clock {
  #elapsedMs = 0
  /** Wall clock at monotonic zero. */
  #epochMs: number
  readonly #sleepers = new Set<Sleeper>()

  constructor(startMs: number = Date.UTC(2026, 0, 1)) {
    this.#epochMs = startMs
  }

  now(): number {
    return this.#epochMs + this.#elapsedMs
  }

  monotonic(): number {
    return this.#elapsedMs
  }

  /** How many sleeps have not ended: zero after a clean stop. */
  get sleeping(): number {
    return this.#sleepers.size
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error)
      const onAbort = () => {
        this.#sleepers.delete(sleeper)
        reject(signal.reason as Error)
      }
      const sleeper: Sleeper = {
        wakesAt: this.#elapsedMs + Math.max(0, ms),
        wake: () => {
          signal.removeEventListener('abort', onAbort)
          resolve()
        },
      }
      this.#sleepers.add(sleeper)
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }

  /**
   * Lets `ms` pass. Sleeps end in the order of their times, and what each one set in motion is done before the next
   * ends. `advance(0)` only lets everything that can run, run.
   */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsedMs + ms
    await settled()
    for (let next = this.#nextUpTo(end); next !== undefined; next = this.#nextUpTo(end)) {
      this.#elapsedMs = next.wakesAt
      this.#sleepers.delete(next)
      next.wake()
      await settled()
    }
    this.#elapsedMs = end
  }

  /** Sets the wall clock as NTP or an administrator would; sleeps and durations do not notice. */
  jumpWallClock(byMs: number): void {
    this.#epochMs += byMs
  }

  #nextUpTo(end: number): Sleeper | undefined {
    let next: Sleeper | undefined
    for (const sleeper of this.#sleepers)
      if (sleeper.wakesAt <= end && (next === undefined || sleeper.wakesAt < next.wakesAt)) next = sleeper
    return next
  }
}

/** An immediate runs after all microtasks, those that microtasks added included. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
