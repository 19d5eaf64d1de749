import type { Clock } from '../../../core/clock.ts'

export interface TokenBucketOptions {
  readonly clock: Clock
  /** Requests per second in the long run; negative for no limit. */
  readonly qps: number
  /** How many may go at once after a pause. */
  readonly burst: number
}

/** Limits the rate of requests, first come first served. */
export class TokenBucket {
  readonly #options: TokenBucketOptions
  /** When the bucket will be full again if nothing more is taken. */
  #fullAtMs = -Infinity

  constructor(options: TokenBucketOptions) {
    this.#options = options
  }

  async take(signal: AbortSignal): Promise<void> {
    const { clock, qps, burst } = this.#options
    if (qps < 0) return
    const now = clock.monotonic()
    const intervalMs = 1000 / qps
    this.#fullAtMs = Math.max(this.#fullAtMs, now) + intervalMs
    const waitMs = this.#fullAtMs - now - Math.max(1, burst) * intervalMs
    if (waitMs > 0) await clock.sleep(waitMs, signal)
  }
}
