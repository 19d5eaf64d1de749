/** One relay for all backends. The ids of their listeners must differ. */
import { lend } from '../../core/lend.ts'
import type { Relay } from './relay.ts'

export interface RelayUse {
  /** Endpoints may ask to see the client's address, which takes more privileges. The first borrower decides. */
  readonly mayBeTransparent: boolean
}

export type LendRelay = (use: RelayUse) => Promise<Relay>

export function lendRelay(open: (use: RelayUse) => Promise<Relay>): LendRelay {
  const borrow = lend(open)
  return async (use) => {
    const lent = await borrow(use)
    const relay = lent.it
    return {
      set: (spec) => relay.set(spec),
      remove: (id) => relay.remove(id),
      counts: (id) => relay.counts(id),
      endpointCounts: (pool) => relay.endpointCounts(pool),
      totals: () => relay.totals(),
      stats: () => relay.stats(),
      ...(relay.transparentConnections && { transparentConnections: () => relay.transparentConnections?.() ?? 0 }),
      [Symbol.asyncDispose]: () => lent[Symbol.asyncDispose](),
    }
  }
}
