/** Lets something happen at once and then at most every ten seconds: for log lines that a flood would repeat. */
import type { Clock } from '../../core/clock.ts'

const quietMs = 10_000

export class Throttle {
  readonly #clock: Clock
  #ranAtMs = -Infinity
  #silenced = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  run(action: (silenced: number) => void): void {
    if (this.#clock.monotonic() - this.#ranAtMs < quietMs) {
      this.#silenced++
      return
    }
    const silenced = this.#silenced
    this.#ranAtMs = this.#clock.monotonic()
    this.#silenced = 0
    action(silenced)
  }
}
