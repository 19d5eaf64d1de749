/** Readings of the data plane on request: one at a time, and at least as much rest as work, whoever asks how often. */
import type { Clock } from '../../core/clock.ts'
import { OneAtATime } from '../../core/sync/one-at-a-time.ts'

export class PacedReading {
  readonly #clock: Clock
  readonly #turns = new OneAtATime()
  #notBeforeMs = -Infinity

  constructor(clock: Clock) {
    this.#clock = clock
  }

  run<T>(read: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#turns.run(async () => {
      signal.throwIfAborted()
      const waitMs = this.#notBeforeMs - this.#clock.monotonic()
      if (waitMs > 0) await this.#clock.sleep(waitMs, signal)
      const startedAt = this.#clock.monotonic()
      try {
        return await read()
      } finally {
        const endedAt = this.#clock.monotonic()
        this.#notBeforeMs = endedAt + (endedAt - startedAt)
      }
    })
  }
}
