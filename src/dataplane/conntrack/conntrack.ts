/** The interface to the kernel's connection table. Each implementation passes `conntrack.contract.ts`. */
import type { TrackedConnection } from '../../core/open-connections.ts'
import type { Flow, FlowDirection } from '../../core/sync/stale-flows.ts'
import { hostPort } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'

/** A flow as `dump` found it. Pass the same object to `delete`. */
export interface TrackedFlow extends Flow {
  /** The kernel's number of this entry. */
  readonly id?: number | undefined
  /** The zone of the reply: network plugins may divide the table into zones. Absent means zone 0. */
  readonly zone?: number | undefined
}

/** Equal for equal flows, whatever their id and zone. */
export function flowKey({ protocol, original, reply }: Flow): string {
  return `${protocol} ${directionKey(original)} ${directionKey(reply)}`
}

function directionKey({ sourceIp, sourcePort, destinationIp, destinationPort }: FlowDirection): string {
  return `${hostPort(sourceIp, sourcePort)} ${hostPort(destinationIp, destinationPort)}`
}

export interface Conntrack {
  /**
   * The UDP flows of one family, in batches, as they are read. A flow that exists all the time is returned at least once,
   * and twice if the table changes so fast that reading has to start again. Rejects with a ConntrackError.
   */
  dump(family: Family, signal: AbortSignal): AsyncIterable<readonly TrackedFlow[]>
  /**
   * The flows of one family and of all protocols that have ports, in batches. `again`: reading has to start over, so what
   * came before does not count.
   */
  connections(family: Family, signal: AbortSignal): AsyncIterable<readonly TrackedConnection[] | 'again'>
  /**
   * Deletes flows that `dump` returned, and resolves with their number. A flow that no longer exists counts as deleted. One
   * that began again with another endpoint stays. An implementation may also delete other flows from the same service
   * address to the same endpoint. Rejects with a ConntrackError that has the number so far.
   */
  delete(flows: readonly TrackedFlow[], signal: AbortSignal): Promise<number>
}

export class ConntrackError extends Error {
  override readonly name = 'ConntrackError'
  readonly reason: 'not-permitted' | 'tool-missing' | 'failed'
  /** How many flows were deleted before the failure. */
  readonly deleted: number

  constructor(reason: ConntrackError['reason'], message: string, options: ErrorOptions & { deleted?: number } = {}) {
    super(message, options)
    this.reason = reason
    this.deleted = options.deleted ?? 0
  }
}
