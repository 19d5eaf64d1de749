/**
 * Decides when waiting streams are looked at: at once if nothing has happened for a while, else only so often. Changes
 * in between are sent together, which costs each client and the server one turn instead of many.
 */
import type { Clock } from '../../core/clock.ts'

export interface Waiting {
  /** Sends what is new, if anything is. */
  look(): void
}

export interface PacerOptions {
  readonly clock: Clock
  /** The least time between two rounds. */
  readonly intervalMs: number
}

/** After this many streams, other work gets a turn on the event loop. */
const roundSize = 64

export class Pacer {
  readonly #options: PacerOptions
  readonly #waiting = new Set<Waiting>()
  readonly #stop = new AbortController()
  #lastRoundAt = -Infinity
  #isRoundPlanned = false

  constructor(options: PacerOptions) {
    this.#options = options
  }

  add(waiting: Waiting): void {
    this.#waiting.add(waiting)
  }

  remove(waiting: Waiting): void {
    this.#waiting.delete(waiting)
  }

  wake(): void {
    if (this.#isRoundPlanned || this.#waiting.size === 0) return
    this.#isRoundPlanned = true
    void this.#plan()
  }

  close(): void {
    this.#stop.abort()
    this.#waiting.clear()
  }

  async #plan(): Promise<void> {
    const { clock, intervalMs } = this.#options
    const waitMs = this.#lastRoundAt + intervalMs - clock.monotonic()
    // Stopping is not an error here.
    if (waitMs > 0) await clock.sleep(waitMs, this.#stop.signal).catch(() => {})
    await turn()
    this.#isRoundPlanned = false
    this.#lastRoundAt = clock.monotonic()
    const round = [...this.#waiting]
    for (const [index, waiting] of round.entries()) {
      if (index % roundSize === roundSize - 1) await turn()
      if (this.#waiting.has(waiting)) waiting.look()
    }
  }
}

/** Gives other work a turn. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
