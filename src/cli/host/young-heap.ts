import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * V8 lets the part of its heap for new objects grow to 48 MB and hardly ever gives it back. A daemon is busy for seconds
 * and then idle for days, so it does not pay: without that growth the iptables mode is 27 MB smaller with 1,000 Services and
 * 45 MB with 10,000, and takes a twentieth to a tenth more CPU time until its first sync has ended. The option that limits
 * the size counts only at the start of a process; the one for the growth is read each time.
 */
export function keepYoungHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** Nobody waits for anything, if nothing has happened for so long. */
const idleMs = 10
/** Of the room for new objects. To collect earlier would be more work in all. */
const worthCollecting = 0.5

/**
 * When the room for new objects is used up, V8 stops everything for a millisecond or two and looks for those that are still
 * needed: in the middle of a change, because that is what uses it up. This does it ahead, a moment after a change. To be
 * called after each; the call itself only sets a timer.
 */
export function collectorOfIdleMoments(): () => void {
  let timer: NodeJS.Timeout | undefined
  let collect: CollectGarbage | undefined
  const collectIfWorthIt = () => {
    if (usedPart() >= worthCollecting) (collect ??= openCollector())({ type: 'minor' })
  }
  return () => {
    timer = timer?.refresh() ?? setTimeout(collectIfWorthIt, idleMs).unref()
  }
}

type CollectGarbage = (options: { readonly type: 'minor' }) => void

/** Only contexts that are made after the flag was set have the function. A version of V8 without it collects when it must. */
function openCollector(): CollectGarbage {
  setFlagsFromString('--expose-gc')
  return (runInNewContext('globalThis.gc') as CollectGarbage | undefined) ?? (() => undefined)
}

function usedPart(): number {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  return young === undefined ? 0 : young.space_used_size / (young.space_used_size + young.space_available_size)
}
