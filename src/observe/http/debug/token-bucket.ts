import type { Clock } from '../../../core/clock.ts'

export interface Rate {
  /** How many may come at once. */
  readonly burst: number
  readonly perSecond: number
}

export class TokenBucket {
  readonly #rate: Rate
  readonly #clock: Pick<Clock, 'monotonic'>
  #tokens: number
  #filledAtMs: number

  constructor(rate: Rate, clock: Pick<Clock, 'monotonic'>) {
    this.#rate = rate
    this.#clock = clock
    this.#tokens = rate.burst
    this.#filledAtMs = clock.monotonic()
  }

  /** 0: take it. Otherwise the milliseconds until there will be one. */
  take(): number {
    const waitMs = this.waitMs()
    if (waitMs === 0) this.#tokens--
    return waitMs
  }

  /** As `take`, and leaves it there. */
  waitMs(): number {
    const { burst, perSecond } = this.#rate
    const nowMs = this.#clock.monotonic()
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#filledAtMs) / 1000) * perSecond)
    this.#filledAtMs = nowMs
    return this.#tokens < 1 ? ((1 - this.#tokens) / perSecond) * 1000 : 0
  }

  /** What was known only afterwards. A debt is never more than the bucket holds: who waits gets something in the end. */
  spend(tokens: number): void {
    this.#tokens = Math.max(-this.#rate.burst, this.#tokens - tokens)
  }
}
