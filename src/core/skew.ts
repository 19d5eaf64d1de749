import type { Route } from './route.ts'
import type { RouteTraffic } from './traffic.ts'

/** How far from even the open connections of a Service port are. */
export interface Skew {
  /** What each endpoint would have. */
  readonly even: number
  /** Of the endpoint with the most. */
  readonly most: number
  /** 1 is even; 3 means that one endpoint has three times its share. */
  readonly ratio: number
}

/** Undefined where there is nothing to share: less than two endpoints, or no open connection. */
export function skewOf({ reachableEndpoints }: Route, { endpoints }: RouteTraffic): Skew | undefined {
  if (endpoints === undefined || reachableEndpoints.length < 2) return undefined
  const open = reachableEndpoints.map(({ address }) => endpoints.get(address)?.open)
  // An endpoint that nothing is open to may be missing; but if nobody knows, nobody knows.
  if (open.every((count) => count === undefined)) return undefined
  let total = 0
  let most = 0
  for (const count of open) {
    total += count ?? 0
    most = Math.max(most, count ?? 0)
  }
  if (total === 0) return undefined
  const even = total / open.length
  return { even, most, ratio: most / even }
}
