/** What the programs have counted. They count connects and new datagram flows, not packets. */
import type { NodeView } from '../../core/backend.ts'
import { KeptTraffic } from '../../core/kept-traffic.ts'
import type { RouteKey } from '../../core/route.ts'
import type { RouteTraffic, Traffic } from '../../core/traffic.ts'
import type { SocketMaps } from './found-tables.ts'
import type { HeldService } from './held.ts'
import { decodeEndpointStats, decodeServiceStats, layout } from './layout.ts'
import type { SocketPlan } from './plan.ts'

type StatsMaps = Pick<SocketMaps, 'service_stats' | 'endpoint_stats'>

export class TrafficCounts {
  readonly #kept = new KeptTraffic()

  read(
    { routesByKey }: SocketPlan,
    maps: StatsMaps,
    keys: Iterable<RouteKey> = routesByKey.keys(),
  ): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
    return this.#kept.withNow(async () => {
      const counted = new Map<RouteKey, RouteTraffic>()
      for (const key of keys) {
        const held = routesByKey.get(key)?.held
        if (held !== undefined) counted.set(key, trafficOf(held, maps))
      }
      return counted
    })
  }

  forget(keys: readonly RouteKey[], view: NodeView): void {
    this.#kept.forget(keys, view)
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
