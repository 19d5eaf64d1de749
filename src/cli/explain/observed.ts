/** What the counters of the running process say about a route. */
import type { Observed } from '../../core/explain/explanation.ts'
import type { RouteKey } from '../../core/route.ts'
import { skewOf } from '../../core/skew.ts'
import type { Family } from '../../net/ip.ts'
import type { TrafficBook } from '../../observe/traffic/traffic-book.ts'

export async function observedTraffic(
  book: Pick<TrafficBook, 'read'>,
  family: Family,
  key: RouteKey,
): Promise<Observed | undefined> {
  const carried = (await book.read()).find(({ view }) => view.family === family)
  const route = carried?.view.routesByKey.get(key)
  const traffic = carried?.traffic.get(key)
  if (route === undefined || traffic?.endpoints === undefined) return undefined
  const open = [...traffic.endpoints].flatMap(([address, it]) =>
    it.open === undefined || it.open === 0 ? [] : [[address, it.open] as const],
  )
  if (open.length === 0) return undefined
  const skew = skewOf(route, traffic)
  return {
    openConnections: Object.fromEntries(open),
    ...(skew !== undefined && { skew: { ratio: skew.ratio, evenShare: skew.even } }),
  }
}
