/**
 * What sockets that remember an endpoint want to know of it, from what all families have programmed. Each answer is worked out when
 * somebody asks: hardly ever does anybody.
 */
import type { SocketProtocol } from './layout.ts'
import type { SocketPlan } from './plan.ts'

export interface WhoServes {
  /** Some endpoint of the service with this index serves, whoever may use it; or it is no Service's any more, so none ever will. */
  isServed(index: number): boolean
  /** Those of these addresses (`ip:port`) that no Service port has as its endpoint any more. */
  gone(protocol: SocketProtocol, addresses: ReadonlySet<string>): ReadonlySet<string>
}

/**
 * `areAll`: these are the plans of all families. Before that nobody knows what another one has.
 *
 * Endpoints have records as long as they serve, also where policy and topology give them to nobody new. A service that is no route's any
 * more was renamed, removed or left to the packets.
 */
export function whoServes(plans: Iterable<SocketPlan>, areAll: boolean): WhoServes {
  const routes = [...plans].map(({ routesByKey }) => routesByKey)
  let indexes: ReturnType<typeof indexesOf> | undefined
  return {
    isServed(index) {
      const { served, unserved } = (indexes ??= indexesOf(routes))
      return served.has(index) || (areAll && !unserved.has(index))
    },
    gone(protocol, addresses) {
      if (!areAll || addresses.size === 0) return none
      const gone = new Set(addresses)
      for (const routesByKey of routes)
        for (const { route } of routesByKey.values())
          if (route.protocol === protocol) for (const { address } of route.endpoints) gone.delete(address)
      return gone
    },
  }
}

function indexesOf(routes: readonly SocketPlan['routesByKey'][]) {
  const [served, unserved] = [new Set<number>(), new Set<number>()]
  for (const routesByKey of routes)
    for (const { held } of routesByKey.values())
      if (held !== undefined) (held.recordsByAddress.size > 0 ? served : unserved).add(held.index)
  return { served, unserved }
}

const none: ReadonlySet<string> = new Set()
