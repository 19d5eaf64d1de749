/** Makes rates of a counter that is read now and then, and keeps them for a while. */
export interface RateAt {
  readonly atMs: number
  /** Null: nobody looked for a while, so that nothing is known. */
  readonly perSecond: number | null
}

/** Readings that are nearer to each other say more about the clock than about the rate. */
const shortestMs = 400
const longestMs = 10_000

export class RateHistory {
  readonly #keepMs: number
  #last: { readonly atMs: number; readonly count: number } | undefined
  #rates: RateAt[] = []

  constructor(keepMs: number) {
    this.#keepMs = keepMs
  }

  get rates(): readonly RateAt[] {
    return this.#rates
  }

  add(atMs: number, count: number): void {
    const last = this.#last
    const passedMs = atMs - (last?.atMs ?? -Infinity)
    if (passedMs >= 0 && passedMs < shortestMs) return
    this.#last = { atMs, count }
    // A counter that went back is that of another process; a clock that did cannot be drawn.
    if (last === undefined || passedMs < 0 || count < last.count) this.#rates = []
    else if (passedMs > longestMs) this.#rates.push({ atMs, perSecond: null })
    else this.#rates.push({ atMs, perSecond: (count - last.count) / (passedMs / 1_000) })
    const oldest = this.#rates.findIndex((rate) => atMs - rate.atMs <= this.#keepMs)
    if (oldest > 0) this.#rates.splice(0, oldest)
  }

  clear(): void {
    this.#last = undefined
    this.#rates = []
  }
}
