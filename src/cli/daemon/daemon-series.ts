/** Series whose values are read when somebody scrapes: from the views, the backends and the source. */
import { addDriftMetrics } from '../../observe/metrics/drift-metrics.ts'
import { addEndpointMetrics } from '../../observe/metrics/endpoint-metrics.ts'
import { addKpngCoreSeries } from '../../observe/metrics/kpng-metrics.ts'
import { addSafetyMetrics } from '../../observe/metrics/safety-metrics.ts'
import { addSourceContact } from '../../observe/metrics/source-metrics.ts'
import { addTrafficMetrics } from '../../observe/metrics/traffic-metrics.ts'
import { addViewMetrics } from '../../observe/metrics/view-metrics.ts'
import { seriesNeeded } from '../../observe/traffic/series-needed.ts'
import type { CarriedView, TrafficBook } from '../../observe/traffic/traffic-book.ts'
import type { ClusterParts, Daemon } from './daemon.ts'
import type { ProxyMemory } from './proxy-memory.ts'

export function addDaemonSeries(
  book: TrafficBook,
  { safety, drift }: Pick<ProxyMemory, 'safety' | 'drift'>,
  { running, host: { clock } }: Pick<Daemon, 'running' | 'host'>,
  { metrics: { registry }, source }: Pick<ClusterParts, 'metrics' | 'source'>,
): void {
  addSafetyMetrics(registry, safety)
  addDriftMetrics(registry, drift, () => book.views().map(({ family }) => family))
  addViewMetrics(registry, () => book.views())
  // Nothing above the limit: a scrape must stay small.
  const upTo = async (part: 'services' | 'endpoints'): Promise<readonly CarriedView[]> => {
    if (seriesNeeded(book.views())[part] > running.config.fairlead.serviceSeriesLimit) return []
    // The other series are worth having.
    return book.read().catch(() => [])
  }
  addTrafficMetrics(registry, () => upTo('services'))
  addEndpointMetrics(registry, () => upTo('endpoints'))
  addSourceContact(registry, clock, () => source.status())
  if (source.core !== undefined) addKpngCoreSeries(registry, clock, source.core)
}
