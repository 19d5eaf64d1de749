/**
 * Notices an engine that hangs without dying: stopped by a signal, caught in a loop, or in a deadlock. It is pinged
 * again and again, and has to answer.
 *
 * What counts is how often this process has looked in vain, not what a clock says. A machine that was suspended, or a
 * process that was frozen together with its engine, has not looked meanwhile; and where there is too little CPU for
 * all, this process gets to look less often, too.
 */
import type { Clock } from '../../core/clock.ts'

export interface Watched {
  ping(this: void): Promise<unknown>
  /** Whether it has done older work since this was last asked: then it is behind, not stuck. */
  hasMoved?(this: void): boolean
}

export interface Patience {
  readonly clock: Clock
  readonly stuckAfterMs: number
}

const looks = 10

/** Resolves when it hangs; rejects when aborted. */
export async function detectHang(watched: Watched, { clock, stuckAfterMs }: Patience, signal: AbortSignal) {
  let missed = 0
  let isAsked = false
  while (missed < looks) {
    await clock.sleep(stuckAfterMs / looks, signal)
    if (isAsked) {
      missed = watched.hasMoved?.() === true ? 0 : missed + 1
      continue
    }
    missed = 0
    isAsked = true
    // If it dies instead, whoever started it notices that.
    watched.ping().then(
      () => (isAsked = false),
      () => {},
    )
  }
}
