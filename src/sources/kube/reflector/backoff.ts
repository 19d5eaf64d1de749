import type { Clock } from '../../../core/clock.ts'

/** As client-go's reflector: 800 ms, doubled up to 30 s, each extended by up to 100 % at random. */
const firstMs = 800
export const usualLongestMs = 30_000
/** After this long without a failure, the next one starts with the shortest delay again. */
const forgetAfterMs = 120_000

/** How long to wait after a failure. The random part keeps 5,000 nodes from coming back at the same moment. */
export class Backoff {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #longestMs: number
  #nextMs = firstMs
  #lastAskedMs = -Infinity

  constructor(clock: Clock, random: () => number, longestMs = usualLongestMs) {
    this.#clock = clock
    this.#random = random
    this.#longestMs = longestMs
  }

  /** Never based on more than `limitMs`. */
  next(limitMs = this.#longestMs): number {
    const now = this.#clock.monotonic()
    if (now - this.#lastAskedMs > forgetAfterMs) this.#nextMs = firstMs
    const baseMs = Math.min(this.#nextMs, limitMs)
    this.#nextMs = Math.min(this.#nextMs * 2, this.#longestMs)
    const delayMs = baseMs * (1 + this.#random())
    // The time without failures counts from the end of the wait. Otherwise a long wait would look like one.
    this.#lastAskedMs = now + delayMs
    return delayMs
  }
}
