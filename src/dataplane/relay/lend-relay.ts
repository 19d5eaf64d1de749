/** One relay for all backends: opened for the first, closed with the last. The ids of their listeners must differ. */
import type { Relay } from './relay.ts'

export interface RelayUse {
  /** Endpoints may ask to see the client's address, which takes more privileges. The first borrower decides. */
  readonly mayBeTransparent: boolean
}

export type LendRelay = (use: RelayUse) => Promise<Relay>

export function lendRelay(open: (use: RelayUse) => Promise<Relay>): LendRelay {
  let opened: Promise<Relay> | undefined
  let borrowers = 0

  return async (use) => {
    borrowers++
    const relay = await (opened ??= open(use))
    let isBorrowed = true
    return {
      set: (spec) => relay.set(spec),
      remove: (id) => relay.remove(id),
      counts: (id) => relay.counts(id),
      stats: () => relay.stats(),
      ...(relay.transparentConnections && { transparentConnections: () => relay.transparentConnections?.() ?? 0 }),
      async [Symbol.asyncDispose]() {
        if (!isBorrowed) return
        isBorrowed = false
        borrowers--
        if (borrowers > 0) return
        opened = undefined
        await relay[Symbol.asyncDispose]()
      },
    }
  }
}
