/** What every engine reports, put together from its listeners' counters. */
import type { ListenerCounters } from './listener-counters.ts'
import type { ListenerSpec, RelayStats, SocketAddress } from './relay.ts'

export interface StatsParts {
  readonly held: readonly {
    readonly spec: ListenerSpec
    readonly address: SocketAddress
    readonly counters: ListenerCounters
  }[]
  /** Counters of removed listeners that still have connections. */
  readonly draining: readonly ListenerCounters[]
  readonly pools: number
  readonly descriptors: RelayStats['descriptors']
}

export function relayStats({ held, draining, pools, descriptors: { used, budget } }: StatsParts): RelayStats {
  return {
    listeners: held.map(({ spec, address, counters }) => ({
      id: spec.id,
      service: spec.pool.service,
      protocol: spec.protocol,
      address,
      ...counters.snapshot(),
    })),
    pools,
    bufferedBytes: sum([...held.map(({ counters }) => counters), ...draining].map(({ waitingBytes }) => waitingBytes)),
    draining: sum(draining.map(({ active }) => active)),
    descriptors: { used, budget },
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
