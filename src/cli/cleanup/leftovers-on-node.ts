/** What proxies left on this machine, whichever system it has. Only reads. */
import { nothingFound } from '../../core/leftover.ts'
import type { Findings } from '../../core/leftover.ts'
import { openDoors } from './cleanup-doors.ts'
import type { CleanupHost } from './cleanup-doors.ts'
import { findLeftovers } from './find-leftovers.ts'

export async function leftoversOnNode(host: CleanupHost, signal: AbortSignal): Promise<Findings> {
  // Windows has none of the doors that follow.
  if (host.platform === 'win32') return nothingFound
  return findLeftovers(await openDoors(host, signal), signal)
}
