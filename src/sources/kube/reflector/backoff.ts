import type { Clock } from '../../../core/clock.ts'

/** The pace of client-go's reflector: 800 ms, doubling up to 30 s, each stretched by up to 100 % at random. */
const firstMs = 800
const longestMs = 30_000
/** After this long without trouble the next failure starts small again. */
const forgetAfterMs = 120_000

/** How long to wait after a failure. The random part keeps 5,000 nodes from coming back in step. */
export class Backoff {
  readonly #clock: Clock
  readonly #random: () => number
  #nextMs = firstMs
  #lastAskedMs = -Infinity

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock
    this.#random = random
  }

  /** The delay before the next attempt, never based on more than `limitMs`. */
  next(limitMs = longestMs): number {
    const now = this.#clock.monotonic()
    if (now - this.#lastAskedMs > forgetAfterMs) this.#nextMs = firstMs
    const baseMs = Math.min(this.#nextMs, limitMs)
    this.#nextMs = Math.min(this.#nextMs * 2, longestMs)
    const delayMs = baseMs * (1 + this.#random())
    // Quiet time counts from the end of the wait, so that long waits are not taken for peace.
    this.#lastAskedMs = now + delayMs
    return delayMs
  }
}
