/** Carries what a failed sync did not program over into the next one, so that nothing is forgotten. */
import type { Change } from '../backend.ts'
import { bothCauses } from './cause-links.ts'
import type { PendingSync } from './route-source.ts'

/** Retries may go on for hours; the log line of each stays a line. */
const maxCauses = 10
const maxTriggerTimes = 10_000
const maxRemovals = 10_000

export function withUnprogrammed(failed: PendingSync | undefined, next: PendingSync): PendingSync {
  if (failed === undefined) return next
  return {
    view: next.view,
    change: withUnprogrammedKeys(failed.change, next.change),
    triggerTimesMs: [...failed.triggerTimesMs, ...next.triggerTimesMs].slice(-maxTriggerTimes),
    removals: [...failed.removals, ...next.removals].slice(0, maxRemovals),
    needsConntrackCleanup: failed.needsConntrackCleanup || next.needsConntrackCleanup,
    causedBy: bothCauses(failed.causedBy, next.causedBy),
  }
}

/** The next change is full, so it lists every route there is; only removals would be lost. */
function withUnprogrammedKeys(failed: Change, next: Change): Change {
  const listed = new Set(next.keys)
  const removed = failed.keys.filter((key) => !listed.has(key))
  const causes = [...new Set([...failed.causes, ...next.causes])].slice(0, maxCauses)
  return { ...next, keys: [...removed, ...next.keys], causes }
}
