/** Routes that a backend could not program although the sync succeeded: tried again, less and less often. */
import type { Change, SyncReport } from '../backend.ts'
import type { RouteKey } from '../route.ts'

/** A rule that the kernel refuses now may be taken after a module was loaded, or never. */
const longestPauseMs = 10 * 60_000

export class UnservedRoutes {
  readonly #firstPauseMs: () => number
  #reasonsByKey: ReadonlyMap<RouteKey, string> = new Map()
  /** Undefined: nothing has failed twice in a row. */
  #pauseMs: number | undefined
  #dueMs = Infinity

  constructor(firstPauseMs: () => number) {
    this.#firstPauseMs = firstPauseMs
  }

  /** Why the data plane does not hold each of them. Another map after each change. */
  get reasonsByKey(): ReadonlyMap<RouteKey, string> {
    return this.#reasonsByKey
  }

  /** Why the data plane does not hold the route; undefined: it does, as far as is known. */
  why(key: RouteKey): string | undefined {
    return this.#reasonsByKey.get(key)
  }

  /** How long until they are to be tried again; undefined when there are none. */
  waitMs(nowMs: number): number | undefined {
    return this.#reasonsByKey.size === 0 ? undefined : Math.max(0, this.#dueMs - nowMs)
  }

  /** Adds those that are due to what a sync looks at. */
  addTo(change: Change, nowMs: number): Change {
    if (change.full || this.#reasonsByKey.size === 0 || nowMs < this.#dueMs) return change
    const listed = new Set(change.keys)
    const again = [...this.#reasonsByKey.keys()].filter((key) => !listed.has(key))
    return { ...change, keys: [...change.keys, ...again], causes: [...change.causes, 'retrying routes that failed'] }
  }

  /** After a sync: what it looked at and could not program, and what it did not look at, stays. */
  note(change: Change, failed: SyncReport['failed'], nowMs: number): void {
    const looked = new Set(change.keys)
    const skipped = change.full ? [] : [...this.#reasonsByKey].filter(([key]) => !looked.has(key))
    const wasTried = change.full || [...this.#reasonsByKey.keys()].some((key) => looked.has(key))
    const isFirst = this.#reasonsByKey.size === 0
    this.#reasonsByKey = new Map([...failed.map(({ key, reason }) => [key, reason] as const), ...skipped])
    if (this.#reasonsByKey.size === 0) this.#pauseMs = undefined
    else if (isFirst) this.#dueMs = nowMs + this.#firstPauseMs()
    else if (wasTried) {
      this.#pauseMs = Math.min(longestPauseMs, 2 * (this.#pauseMs ?? this.#firstPauseMs()))
      this.#dueMs = nowMs + this.#pauseMs
    }
  }
}
