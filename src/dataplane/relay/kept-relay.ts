/** A relay whose listening sockets may come from the process before this one, and go to the one after it. */
import type { Clock } from '../../core/clock.ts'
import type { KeptSocket, KeptSockets } from '../../net/kept-sockets.ts'
import { usualUdpIdleMs, type ListenerSpec, type Relay } from './relay.ts'

/** How a listener is called in both processes. */
export const useOf = (id: string): string => `relay ${id}`

export interface KeptRelayOptions {
  readonly relay: Relay
  readonly sockets: KeptSockets
  readonly clock: Clock
}

export function keptRelay({ relay, sockets, clock }: KeptRelayOptions): Relay {
  const stopOffering = sockets.offer(() => (relay.listening?.() ?? []).map(({ id, ...one }) => keptAs(id, one)))
  return {
    set(spec) {
      const { id, protocol, address } = spec
      const fd = sockets.take({ use: useOf(id), protocol, ...address })
      return relay.set(fd === undefined ? spec : { ...spec, fd })
    },
    remove: (id) => relay.remove(id, { isGentle: sockets.areShared }),
    counts: (id) => relay.counts(id),
    endpointCounts: (pool) => relay.endpointCounts(pool),
    totals: () => relay.totals(),
    stats: () => relay.stats(),
    ...(relay.transparentConnections && { transparentConnections: () => relay.transparentConnections?.() ?? 0 }),
    async [Symbol.asyncDispose]() {
      stopOffering()
      if (sockets.areShared) await untilDrained(relay, clock)
      await relay[Symbol.asyncDispose]()
    },
  }
}

const lookEveryMs = 100
const never = new AbortController().signal

/** Another process serves the clients to come. Those that are here have all the time they need, until somebody ends this process. */
async function untilDrained(relay: Relay, clock: Clock): Promise<void> {
  // Answers may still be under way to clients of UDP.
  await clock.sleep(2 * usualUdpIdleMs, never)
  while (relay.stats().draining > 0) await clock.sleep(lookEveryMs, never)
}

function keptAs(
  id: string,
  { protocol, address, fd }: Pick<ListenerSpec, 'protocol' | 'address'> & { readonly fd: number },
): KeptSocket {
  return { use: useOf(id), protocol, ip: address.ip, port: address.port, fd }
}
