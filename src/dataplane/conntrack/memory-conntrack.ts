/** A connection table that exists only in memory. */
import type { TrackedConnection } from '../../core/open-connections.ts'
import type { Flow } from '../../core/sync/stale-flows.ts'
import { familyOf } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { flowKey } from './conntrack.ts'
import type { Conntrack, ConntrackError, TrackedFlow } from './conntrack.ts'
import { udp } from './flow-messages.ts'

export class MemoryConntrack implements Conntrack {
  readonly #flowsByKey = new Map<string, Flow & Partial<TrackedConnection>>()
  refuseDumpWith: ConntrackError | undefined
  refuseDeleteWith: ConntrackError | undefined
  dumpCount = 0
  /** The next list of connections begins again, once. */
  isInterrupted = false

  add(...flows: readonly (Flow & Partial<TrackedConnection>)[]): void {
    for (const flow of flows) this.#flowsByKey.set(flowKey(flow), flow)
  }

  get flows(): readonly (Flow & Partial<TrackedConnection>)[] {
    return [...this.#flowsByKey.values()]
  }

  async *dump(family: Family, signal: AbortSignal): AsyncGenerator<readonly TrackedFlow[]> {
    signal.throwIfAborted()
    this.dumpCount++
    const flows = this.flows.filter(
      ({ protocol, original }) => protocol === udp && familyOf(original.sourceIp) === family,
    )
    // Small batches, so that tests see more than one.
    for (let at = 0; at < flows.length; at += 2) yield flows.slice(at, at + 2)
    if (this.refuseDumpWith !== undefined) throw this.refuseDumpWith
  }

  async *connections(family: Family, signal: AbortSignal): AsyncGenerator<readonly TrackedConnection[] | 'again'> {
    signal.throwIfAborted()
    this.dumpCount++
    const flows = this.flows.filter(({ original }) => familyOf(original.sourceIp) === family)
    for (const flow of flows) yield [{ isOpen: true, ...flow }]
    if (this.refuseDumpWith !== undefined) throw this.refuseDumpWith
    if (!this.isInterrupted) return
    this.isInterrupted = false
    yield 'again'
    yield* this.connections(family, signal)
  }

  async delete(flows: readonly TrackedFlow[], signal: AbortSignal): Promise<number> {
    signal.throwIfAborted()
    if (this.refuseDeleteWith !== undefined) throw this.refuseDeleteWith
    for (const flow of flows) this.#flowsByKey.delete(flowKey(flow))
    return flows.length
  }
}
