import type { SyncSteps } from '../../core/sync/sync-steps.ts'
import { tracedDoor } from '../../core/sync/traced-door.ts'
import type { NftTable } from './nft.ts'

/** Each transaction is a commit in the trace of the sync. */
export function tracedNft(table: NftTable, steps: SyncSteps): NftTable {
  return tracedDoor(table, steps, {
    commit: { before: (transaction) => ({ command: 'nft transaction', operations: transaction.length }) },
  })
}
