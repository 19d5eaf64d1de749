import type { NodeView } from './backend.ts'
import type { Logger } from './logger.ts'
import type { Route, RouteKey } from './route.ts'
import { addTraffic, notLessThan } from './traffic.ts'
import type { RouteTraffic } from './traffic.ts'

/**
 * What was counted by counters that are gone: a kernel begins at zero when a rule or an element is written anew. It
 * outlives the plans, because nobody may see a counter go back when a sync fails.
 */
export class KeptTraffic {
  readonly #byKey = new Map<RouteKey, RouteTraffic>()
  /** By the last reading: what comes after the last look at a counter that goes is lost, but no number may fall. */
  #told = new Map<RouteKey, RouteTraffic>()
  /** Routes that were written, or went, while a reading is under way: nobody knows which of their counters it saw. */
  readonly #unsure = new Set<Set<RouteKey>>()

  /** Once the counters are gone. */
  keep(counted: ReadonlyMap<RouteKey, RouteTraffic>): void {
    for (const [key, traffic] of counted) this.#byKey.set(key, addTraffic(this.#byKey.get(key), traffic))
    this.#disturb(counted.keys())
  }

  /** With what the counters say now. */
  async withNow(
    read: () => Promise<ReadonlyMap<RouteKey, RouteTraffic>>,
  ): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    const unsure = new Set<RouteKey>()
    this.#unsure.add(unsure)
    try {
      const told = new Map<RouteKey, RouteTraffic>()
      for (const [key, sum] of this.addTo(await read())) {
        const before = this.#told.get(key)
        const traffic = unsure.has(key) ? (before ?? this.#byKey.get(key)) : notLessThan(before, sum)
        if (traffic !== undefined) told.set(key, traffic)
      }
      this.#told = new Map(told)
      return told
    } finally {
      this.#unsure.delete(unsure)
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
    const gone: RouteKey[] = []
    for (const key of keys) {
      const kept = this.#byKey.get(key)
      const route = routesByKey.get(key)
      if (route === undefined) {
        this.#byKey.delete(key)
        this.#told.delete(key)
        gone.push(key)
      } else if (kept?.endpoints !== undefined) this.#byKey.set(key, withEndpointsOf(kept, route))
    }
    this.#disturb(gone)
  }

  #disturb(keys: Iterable<RouteKey>): void {
    if (this.#unsure.size === 0) return
    for (const key of keys) for (const unsure of this.#unsure) unsure.add(key)
  }
}

/** Without the endpoints that are gone: pods come and go for ever. */
function withEndpointsOf({ endpoints, ...traffic }: RouteTraffic, route: Route): RouteTraffic {
  const addresses = new Set(route.endpoints.map(({ address }) => address))
  return { ...traffic, endpoints: new Map([...(endpoints ?? [])].filter(([address]) => addresses.has(address))) }
}

/** Undefined if they cannot be read: a count may be lost, a change of a Service may not. */
export async function countsIfReadable(
  reading: Promise<ReadonlyMap<RouteKey, RouteTraffic>>,
  log: Logger,
  signal: AbortSignal,
): Promise<ReadonlyMap<RouteKey, RouteTraffic> | undefined> {
  try {
    return await reading
  } catch (error) {
    if (signal.aborted) throw error
    log.warn('cannot read the counters that are written anew; some connections will not be counted', { error })
    return undefined
  }
}
