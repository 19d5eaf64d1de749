/** Notices what others do to the table, within seconds. */
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { lookNowAndThen } from '../../core/sync/look-now-and-then.ts'
import type { ForeignChange, NftTable } from '../../dataplane/nft/nft.ts'

export interface DriftWatchOptions {
  readonly table: Pick<NftTable, 'foreignChange'>
  readonly clock: Clock
  readonly log: Logger
}

/** A full sync reads the whole table, so it is not done on mere suspicion more often than this. */
const suspectEveryMs = 30_000

export async function watchDrift(
  { table, clock, log }: DriftWatchOptions,
  onDrift: (found: string) => void,
  signal: AbortSignal,
): Promise<void> {
  let suspectedAtMs = clock.monotonic()
  const findingOf = (change: ForeignChange): string | undefined => {
    if (change.kind === 'changed') return change.what
    if (change.kind === 'none' || clock.monotonic() < suspectedAtMs + suspectEveryMs) return undefined
    suspectedAtMs = clock.monotonic()
    return 'somebody may have changed the table unnoticed'
  }
  await lookNowAndThen(
    {
      look: async () => findingOf(await table.foreignChange(signal)),
      onFound: onDrift,
      trouble: 'cannot watch the nftables table',
      clock,
      log,
    },
    signal,
  )
}
