/** Looks every second for what others did to the data plane, and less often while somebody keeps doing it. */
import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'

/** Drift is to be noticed within five seconds, and repaired within ten. */
export const lookEveryMs = 1_000

export interface LookOptions<Finding> {
  /** Undefined: all is well. */
  readonly look: () => Promise<Finding | undefined>
  readonly onFound: (finding: Finding) => void
  /**
   * How long to wait after a finding that is nobody's doing, and so does not count as one of a row. Undefined: somebody
   * did it.
   */
  readonly pauseAfter?: (finding: Finding) => number | undefined
  /** What to say when the look itself fails; it is tried again. */
  readonly trouble: string
  readonly clock: Clock
  readonly log: Logger
}

/** So many findings in a row are answered at full speed: an operator or a script may do several things. */
const patience = 4
/** After that, somebody keeps changing the same thing, and repairing without end would not help. */
const longestPauseMs = 60_000
/** After this long without a finding, pauses are short again. */
const quietMs = 60_000

export async function lookNowAndThen<Finding>(options: LookOptions<Finding>, signal: AbortSignal): Promise<void> {
  const { look, onFound, pauseAfter, trouble, clock, log } = options
  let findings = 0
  let lastFoundAt = 0
  while (!signal.aborted) {
    let pauseMs = lookEveryMs
    try {
      const finding = await look()
      const now = clock.monotonic()
      if (finding !== undefined) {
        const ownPauseMs = pauseAfter?.(finding)
        if (ownPauseMs === undefined) {
          findings++
          lastFoundAt = now
        }
        pauseMs = ownPauseMs ?? Math.min(longestPauseMs, lookEveryMs * 2 ** Math.max(0, findings - patience))
        onFound(finding)
      } else if (now - lastFoundAt >= quietMs) findings = 0
    } catch (error) {
      if (!signal.aborted) log.warn(trouble, { error })
    }
    await clock.sleep(pauseMs, signal).catch(() => {})
  }
}
