/** Series whose values are read when somebody scrapes: from the views, the backends and the source. */
import { addKpngCoreSeries } from '../../observe/metrics/kpng-metrics.ts'
import { addSourceContact } from '../../observe/metrics/source-metrics.ts'
import { addTrafficMetrics, type CarriedView } from '../../observe/metrics/traffic-metrics.ts'
import { addViewMetrics } from '../../observe/metrics/view-metrics.ts'
import type { ClusterParts, Daemon } from './daemon.ts'
import type { FamilyProxy } from './family-proxy.ts'

export function addDaemonSeries(
  proxies: readonly FamilyProxy[],
  { serviceSeriesLimit, host: { clock } }: Pick<Daemon, 'serviceSeriesLimit' | 'host'>,
  { metrics: { registry }, source }: Pick<ClusterParts, 'metrics' | 'source'>,
  signal: AbortSignal,
): void {
  addViewMetrics(registry, () => proxies.map((proxy) => proxy.view()))
  let reading: Promise<readonly CarriedView[]> | undefined
  // The families of one scrape share one reading.
  addTrafficMetrics(registry, () => {
    const forget = () => (reading = undefined)
    reading ??= carriedViews(proxies, serviceSeriesLimit, signal).finally(forget)
    return reading
  })
  addSourceContact(registry, clock, () => source.status())
  if (source.core !== undefined) addKpngCoreSeries(registry, clock, source.core)
}

/** Nothing above the limit: a scrape must stay small. */
async function carriedViews(
  proxies: readonly FamilyProxy[],
  limit: number,
  signal: AbortSignal,
): Promise<readonly CarriedView[]> {
  if (seriesOf(proxies) > limit) return []
  return Promise.all(proxies.map(async (proxy) => ({ view: proxy.view(), traffic: await proxy.traffic(signal) })))
}

function seriesOf(proxies: readonly FamilyProxy[]): number {
  return proxies.reduce((sum, proxy) => sum + proxy.view().routesByKey.size, 0)
}
