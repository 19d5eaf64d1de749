/** Notices what others do to the table, within seconds. */
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { ForeignChange, NftTable } from '../../dataplane/nft/nft.ts'

export interface DriftWatchOptions {
  readonly table: Pick<NftTable, 'foreignChange'>
  readonly clock: Clock
  readonly log: Logger
}

/** Drift is to be repaired within ten seconds. */
const lookEveryMs = 2_000
/** When it is back after each repair, somebody keeps changing the same table: an endless fight helps nobody. */
const longestPauseMs = 60_000
/** A full sync reads the whole table, so it is not done on mere suspicion more often than this. */
const suspectEveryMs = 30_000

export async function watchDrift(
  { table, clock, log }: DriftWatchOptions,
  onDrift: (found: string) => void,
  signal: AbortSignal,
): Promise<void> {
  let pauseMs = lookEveryMs
  let suspectedAtMs = clock.monotonic()
  const findingOf = (change: ForeignChange): string | undefined => {
    if (change.kind === 'changed') return change.what
    if (change.kind === 'none' || clock.monotonic() < suspectedAtMs + suspectEveryMs) return undefined
    suspectedAtMs = clock.monotonic()
    return 'somebody may have changed the table unseen'
  }
  while (!signal.aborted) {
    try {
      const change = await table.foreignChange(signal)
      const found = findingOf(change)
      pauseMs = change.kind === 'changed' ? Math.min(longestPauseMs, 2 * pauseMs) : lookEveryMs
      if (found !== undefined) onDrift(found)
    } catch (error) {
      if (!signal.aborted) log.warn('the nftables table cannot be watched', { error })
    }
    await clock.sleep(pauseMs, signal).catch(() => {})
  }
}
