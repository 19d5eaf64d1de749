/**
 * What the programs have counted: connects and new datagram flows, not packets. Each place in the tables counts from zero when
 * it is given out, so what was read last of a place that a Service or an endpoint has left is kept.
 */
import type { NodeView } from '../../core/backend.ts'
import { KeptTraffic } from '../../core/kept-traffic.ts'
import type { Route, RouteKey } from '../../core/route.ts'
import type { RouteTraffic, Traffic } from '../../core/traffic.ts'
import type { SocketMaps } from './found-tables.ts'
import type { HeldService } from './held.ts'
import { decodeEndpointStats, decodeServiceStats, layout } from './layout.ts'
import type { SocketPlan } from './plan.ts'

type StatsMaps = Pick<SocketMaps, 'service_stats' | 'endpoint_stats'>
type Routes = Pick<NodeView, 'routesByKey'>

/** By the last reading. */
interface Counted {
  /** Undefined: the route is left to the packets. */
  readonly held: HeldService | undefined
  readonly traffic: RouteTraffic
}

export class TrafficCounts {
  readonly #kept = new KeptTraffic()
  readonly #lastByKey = new Map<RouteKey, Counted>()

  /** `view` is what the plan was made from. Without maps, what was read last is told. */
  read(
    { routesByKey }: SocketPlan,
    view: Routes,
    maps: StatsMaps | undefined,
    keys: Iterable<RouteKey> = routesByKey.keys(),
  ): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    const [counted, left] = [new Map<RouteKey, RouteTraffic>(), new Map<RouteKey, RouteTraffic>()]
    for (const key of keys) {
      const [last, held] = [this.#lastByKey.get(key), routesByKey.get(key)?.held]
      if (last === undefined && held === undefined) continue
      if (maps === undefined) {
        if (last !== undefined) counted.set(key, last.traffic)
        continue
      }
      const traffic = held === undefined ? nothing : trafficOf(held, maps)
      const before =
        last && last.held !== held ? leftBehind(last, { held, traffic }, view.routesByKey.get(key)) : undefined
      if (before !== undefined) left.set(key, before)
      counted.set(key, traffic)
      this.#lastByKey.set(key, { held, traffic })
    }
    this.#kept.keep(left)
    return this.#kept.withNow(async () => counted)
  }

  forget(keys: readonly RouteKey[], view: Routes): void {
    this.#kept.forget(keys, view)
    for (const key of keys) if (!view.routesByKey.has(key)) this.#lastByKey.delete(key)
  }
}

function trafficOf({ index, recordsByAddress }: HeldService, maps: StatsMaps): RouteTraffic {
  const { connections, refused } = decodeServiceStats(maps.service_stats.bytes, index * layout.serviceStats.size)
  const endpoints = new Map<string, Traffic>()
  for (const [address, { id }] of recordsByAddress) {
    const { picked } = decodeEndpointStats(maps.endpoint_stats.bytes, id * layout.endpointStats.size)
    endpoints.set(address, { connections: picked })
  }
  return { connections, turnedAway: { 'no-endpoint': refused }, endpoints }
}

const nothing: RouteTraffic = { connections: 0, turnedAway: { 'no-endpoint': 0 }, endpoints: new Map() }

/** What places counted that others have now, or nobody. Undefined: nothing. */
function leftBehind(last: Counted, now: Counted, route: Route | undefined): RouteTraffic | undefined {
  const { endpoints: counted = new Map<string, Traffic>(), ...service } = last.traffic
  const isMoved = last.held?.index !== now.held?.index
  const endpoints = new Map<string, Traffic>()
  for (const { address } of route?.endpoints ?? []) {
    const [before, generation] = [counted.get(address), last.held?.recordsByAddress.get(address)?.generation]
    if (before !== undefined && generation !== now.held?.recordsByAddress.get(address)?.generation)
      endpoints.set(address, before)
  }
  return isMoved || endpoints.size > 0 ? { ...(isMoved && service), endpoints } : undefined
}
