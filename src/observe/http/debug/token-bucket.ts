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
    const { burst, perSecond } = this.#rate
    const nowMs = this.#clock.monotonic()
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#filledAtMs) / 1000) * perSecond)
    this.#filledAtMs = nowMs
    if (this.#tokens < 1) return ((1 - this.#tokens) / perSecond) * 1000
    this.#tokens--
    return 0
  }
}
