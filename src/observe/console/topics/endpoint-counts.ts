/** How many endpoints a Service has, and how many of them this node uses. */
import type { ServiceRecord, SliceRecord } from '../../../api/records.ts'
import type { Route } from '../../../core/route.ts'
import { families } from '../../../net/ip.ts'
import type { Family } from '../../../net/ip.ts'
import type { EndpointCounts } from '../wire.ts'

/** A pod that has an address of each family counts once: the family with the most is told. */
export function endpointCounts(slices: Iterable<SliceRecord>, routes: readonly Route[]): EndpointCounts {
  const readyByPlace = { ipv4: new Map<string, boolean>(), ipv6: new Map<string, boolean>() }
  for (const { family, endpoints, ports } of slices) {
    // On the network of a node, or of one machine, several have the same IP. One that moves to another slice keeps its ports.
    const at = ports.map(({ port }) => port).join()
    for (const { ip, ready } of endpoints) {
      const place = `${ip} ${at}`
      if (ready || !readyByPlace[family].has(place)) readyByPlace[family].set(place, ready)
    }
  }
  const [first, second] = families
  const family = readyByPlace[second].size > readyByPlace[first].size ? second : first
  let ready = 0
  for (const isReady of readyByPlace[family].values()) if (isReady) ready++
  return { total: readyByPlace[family].size, ready, used: usedIn(family, routes) }
}

/** Clients of its address are turned away. */
export function isWithoutEndpoints({ clusterIPs }: ServiceRecord, { ready }: EndpointCounts): boolean {
  return ready === 0 && (clusterIPs.ipv4 ?? clusterIPs.ipv6) !== undefined
}

function usedIn(family: Family, routes: readonly Route[]): number {
  const own = routes.filter((route) => route.family === family)
  const [only, ...more] = own
  if (only === undefined) return 0
  if (more.length === 0) return only.reachableEndpoints.length
  return new Set(own.flatMap(({ reachableEndpoints }) => reachableEndpoints.map(({ ip }) => ip))).size
}
