/** Routes that a backend could not program although the sync succeeded: tried again, less and less often. */
import type { Change } from '../backend.ts'
import type { RouteKey } from '../route.ts'

/** A rule that the kernel refuses now may be taken after a module was loaded, or never. */
const longestPauseMs = 10 * 60_000

export class UnservedRoutes {
  readonly #firstPauseMs: number
  #keys: ReadonlySet<RouteKey> = new Set()
  #pauseMs: number
  #dueMs = Infinity

  constructor(firstPauseMs: number) {
    this.#firstPauseMs = firstPauseMs
    this.#pauseMs = firstPauseMs
  }

  /** How long until they are to be tried again; undefined when there are none. */
  waitMs(nowMs: number): number | undefined {
    return this.#keys.size === 0 ? undefined : Math.max(0, this.#dueMs - nowMs)
  }

  /** Adds those that are due to what a sync looks at. */
  addTo(change: Change, nowMs: number): Change {
    if (change.full || this.#keys.size === 0 || nowMs < this.#dueMs) return change
    const listed = new Set(change.keys)
    const again = [...this.#keys].filter((key) => !listed.has(key))
    return { ...change, keys: [...change.keys, ...again], causes: [...change.causes, 'retrying routes that failed'] }
  }

  /** After a sync: what it looked at and could not program, and what it did not look at, stays. */
  note(change: Change, failed: readonly RouteKey[], nowMs: number): void {
    const looked = new Set(change.keys)
    const skipped = change.full ? [] : [...this.#keys].filter((key) => !looked.has(key))
    const wasTried = change.full || [...this.#keys].some((key) => looked.has(key))
    const isFirst = this.#keys.size === 0
    this.#keys = new Set([...failed, ...skipped])
    if (this.#keys.size === 0) this.#pauseMs = this.#firstPauseMs
    else if (isFirst) this.#dueMs = nowMs + this.#pauseMs
    else if (wasTried) {
      this.#pauseMs = Math.min(longestPauseMs, 2 * this.#pauseMs)
      this.#dueMs = nowMs + this.#pauseMs
    }
  }
}
