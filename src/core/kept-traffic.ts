import type { NodeView } from './backend.ts'
import type { Route, RouteKey } from './route.ts'
import { addTraffic } from './traffic.ts'
import type { RouteTraffic } from './traffic.ts'

/**
 * What was counted by counters that are gone: a kernel begins at zero when a rule or an element is written anew. It
 * outlives the plans, because nobody may see a counter go back when a sync fails.
 */
export class KeptTraffic {
  readonly #byKey = new Map<RouteKey, RouteTraffic>()
  #version = 0

  /** Once the counters are gone. */
  keep(counted: ReadonlyMap<RouteKey, RouteTraffic>): void {
    for (const [key, traffic] of counted) this.#byKey.set(key, addTraffic(this.#byKey.get(key), traffic))
    this.#version++
  }

  /** With what the counters say now. If something is kept while they are read, nobody knows what was read twice. */
  async withNow(
    read: () => Promise<ReadonlyMap<RouteKey, RouteTraffic>>,
  ): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    for (let attempt = 1; ; attempt++) {
      const version = this.#version
      const now = await read()
      if (version === this.#version || attempt === mostAttempts) return this.addTo(now)
    }
  }

  addTo(now: ReadonlyMap<RouteKey, RouteTraffic>): ReadonlyMap<RouteKey, RouteTraffic> {
    const sum = new Map(now)
    for (const [key, kept] of this.#byKey) {
      const counted = sum.get(key)
      if (counted !== undefined) sum.set(key, addTraffic(counted, kept))
    }
    return sum
  }

  /** Forgets the routes that are gone, and the endpoints that a route has no more. */
  forget(keys: Iterable<RouteKey>, { routesByKey }: Pick<NodeView, 'routesByKey'>): void {
    for (const key of keys) {
      const kept = this.#byKey.get(key)
      if (kept === undefined) continue
      const route = routesByKey.get(key)
      if (route === undefined) this.#byKey.delete(key)
      else if (kept.endpoints !== undefined) this.#byKey.set(key, withEndpointsOf(kept, route))
    }
  }
}

const mostAttempts = 3

/** Without the endpoints that are gone: pods come and go for ever. */
function withEndpointsOf({ endpoints, ...traffic }: RouteTraffic, route: Route): RouteTraffic {
  const addresses = new Set(route.endpoints.map(({ address }) => address))
  return { ...traffic, endpoints: new Map([...(endpoints ?? [])].filter(([address]) => addresses.has(address))) }
}
