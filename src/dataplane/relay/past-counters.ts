/** What listeners have counted that are gone: totals must not fall when one is removed. */
import { ListenerCounters } from './listener-counters.ts'
import type { ListenerSpec, TrafficCounts } from './relay.ts'

type Protocol = ListenerSpec['protocol']

export interface Counted {
  readonly protocol: Protocol
  readonly counters: ListenerCounters
}

export class PastCounters {
  readonly #sums: Record<Protocol, ListenerCounters> = { TCP: new ListenerCounters(), UDP: new ListenerCounters() }

  add({ protocol, counters }: Counted): void {
    this.#sums[protocol] = ListenerCounters.sumOf([this.#sums[protocol], counters])
  }

  /** With those that are still there. */
  with(present: Iterable<Counted>): Readonly<Record<Protocol, TrafficCounts>> {
    const parts: Record<Protocol, ListenerCounters[]> = { TCP: [this.#sums.TCP], UDP: [this.#sums.UDP] }
    for (const { protocol, counters } of present) parts[protocol].push(counters)
    return {
      TCP: ListenerCounters.sumOf(parts.TCP).snapshot(),
      UDP: ListenerCounters.sumOf(parts.UDP).snapshot(),
    }
  }
}
