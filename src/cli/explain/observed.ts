/** What the counters of the running process say about a route. */
import type { Observed } from '../../core/explain/explanation.ts'
import type { Route, RouteKey } from '../../core/route.ts'
import { skewOf } from '../../core/skew.ts'
import type { RouteTraffic } from '../../core/traffic.ts'
import type { Family } from '../../net/ip.ts'
import type { TrafficBook } from '../../observe/traffic/traffic-book.ts'

export async function observedTraffic(
  book: Pick<TrafficBook, 'readSoon'>,
  family: Family,
  key: RouteKey,
): Promise<Observed | undefined> {
  const known = await book.readSoon()
  const why = known.uncounted.find((one) => one.family === family)?.why
  if (why !== undefined) return { uncounted: why }
  const carried = known.carried.find(({ view }) => view.family === family)
  const route = carried?.view.routesByKey.get(key)
  const traffic = carried?.traffic.get(key)
  if (route === undefined || traffic?.endpoints === undefined) return undefined
  const failedDials = failuresOf(traffic.endpoints)
  const seen = { ...openOf(route, traffic, traffic.endpoints), ...(failedDials && { failedDials }) }
  return Object.keys(seen).length === 0 ? undefined : seen
}

type ByEndpoint = NonNullable<RouteTraffic['endpoints']>

function openOf(route: Route, traffic: RouteTraffic, endpoints: ByEndpoint): Observed | undefined {
  const open = new Map(route.reachableEndpoints.map(({ address }) => [address, 0]))
  for (const [address, it] of endpoints) if (it.open) open.set(address, it.open)
  const busiestFirst = [...open].sort(([, left], [, right]) => right - left)
  if ((busiestFirst[0]?.[1] ?? 0) === 0) return undefined
  const skew = skewOf(route, traffic)
  return {
    openConnections: Object.fromEntries(busiestFirst),
    ...(skew !== undefined && { skew: { ratio: skew.ratio, evenShare: skew.even } }),
  }
}

/** The most first. */
function failuresOf(endpoints: ByEndpoint): Observed['failedDials'] {
  const failed = [...endpoints].flatMap(([address, { dialFailures: count = 0, lastUsedMs }]) =>
    count === 0 ? [] : [{ address, count, lastUsedMs }],
  )
  if (failed.length === 0) return undefined
  return Object.fromEntries(
    failed
      .sort((left, right) => right.count - left.count)
      .map(({ address, count, lastUsedMs }) => [
        address,
        { count, ...(lastUsedMs !== undefined && { lastUsed: new Date(lastUsedMs).toISOString() }) },
      ]),
  )
}
