/** What others did to the data plane, and how long it took until it was as it should be again. */
import type { Family } from '../../net/ip.ts'
import type { Clock } from '../clock.ts'
import type { AfterSync } from './sync-runner.ts'

export interface Drift {
  readonly family: Family
  readonly found: string
  /** When it was found for the first time, on the wall clock. */
  readonly atMs: number
  /** As long as it is not repaired, it may be found again and again. */
  readonly times: number
  /** From the first finding to the end of the sync that it caused. Undefined: not yet. */
  readonly repairedAfterMs: number | undefined
}

/** Of both families together. */
const mostKept = 100

export class DriftMemory {
  readonly #clock: Clock
  /** The newest last. */
  #kept: readonly (Drift & { readonly foundAtMonotonicMs: number })[] = []
  readonly #totals: Record<Family, number> = { ipv4: 0, ipv6: 0 }

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Since the process began, also those that are forgotten. */
  get total(): number {
    return this.#totals.ipv4 + this.#totals.ipv6
  }

  totalOf(family: Family): number {
    return this.#totals[family]
  }

  /** The newest first. */
  get last(): readonly Drift[] {
    return this.#kept.map(({ foundAtMonotonicMs: _internal, ...drift }) => drift).reverse()
  }

  noteFound(family: Family, found: string): void {
    const isSame = (drift: Drift) =>
      drift.family === family && drift.found === found && drift.repairedAfterMs === undefined
    if (this.#kept.some(isSame)) {
      this.#kept = this.#kept.map((drift) => (isSame(drift) ? { ...drift, times: drift.times + 1 } : drift))
      return
    }
    this.#totals[family]++
    const [atMs, foundAtMonotonicMs] = [this.#clock.now(), this.#clock.monotonic()]
    const drift = { family, found, atMs, times: 1, repairedAfterMs: undefined, foundAtMonotonicMs }
    this.#kept = [...this.#kept, drift].slice(-mostKept)
  }

  /** A sync names what caused it: one that had begun before the finding does not count. */
  afterSync(): AfterSync {
    return {
      name: 'drift',
      isNote: true,
      run: ({ view: { family }, change: { causes } }) => {
        const isRepaired = (drift: Drift) =>
          drift.family === family && drift.repairedAfterMs === undefined && causes.includes(drift.found)
        if (!this.#kept.some(isRepaired)) return
        const now = this.#clock.monotonic()
        this.#kept = this.#kept.map((drift) =>
          isRepaired(drift) ? { ...drift, repairedAfterMs: now - drift.foundAtMonotonicMs } : drift,
        )
      },
    }
  }
}
