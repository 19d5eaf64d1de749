/** The one door to the kernel's connection table. Each implementation passes `conntrack.contract.ts`. */
import type { Flow } from '../../core/sync/stale-flows.ts'
import type { Family } from '../../net/ip.ts'

/** A flow as the kernel has it. Callers hand the whole of it back to `delete`. */
export interface TrackedFlow extends Flow {
  /** The kernel's number of this entry. */
  readonly id?: number | undefined
  /** Where the reply is looked up: network plugins may divide the table into zones. Absent is zone 0. */
  readonly zone?: number | undefined
}

export interface Conntrack {
  /**
   * The UDP flows of one family, in batches, as they are read. A flow that is there all the time comes at least once;
   * it may come twice when the table changes so fast that reading has to start again. Rejects with a ConntrackError.
   */
  dump(family: Family, signal: AbortSignal): AsyncIterable<readonly TrackedFlow[]>
  /**
   * Deletes flows that `dump` gave, and resolves with their number. One that is no longer there counts as deleted; one
   * that began again with another answerer stays. An implementation may also delete flows that were not named but lead
   * from the same service address to the same endpoint. Rejects with a ConntrackError that has the number so far.
   */
  delete(flows: readonly TrackedFlow[], signal: AbortSignal): Promise<number>
}

export class ConntrackError extends Error {
  override readonly name = 'ConntrackError'
  readonly reason: 'not-permitted' | 'tool-missing' | 'failed'
  /** How many flows were deleted before it failed. */
  readonly deleted: number

  constructor(reason: ConntrackError['reason'], message: string, options: ErrorOptions & { deleted?: number } = {}) {
    super(message, options)
    this.reason = reason
    this.deleted = options.deleted ?? 0
  }
}
