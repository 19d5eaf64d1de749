import type { NodeView } from '../../core/backend.ts'
import { familyLabel } from './family-label.ts'
import type { MetricRegistry } from './prometheus.ts'

/** How much this node proxies. Counted at each scrape, so that a sync never walks all routes for it. */
export function addViewMetrics(registry: MetricRegistry, views: () => readonly NodeView[]): void {
  registry.gauge(
    { name: 'fairlead_routes', labels: ['ip_family'], help: 'Service ports that this node proxies.' },
    (gauge) => {
      for (const view of views()) gauge.set(familyLabel(view.family), view.routesByKey.size)
    },
  )
  registry.gauge(
    {
      name: 'fairlead_endpoints',
      labels: ['ip_family'],
      help: 'Endpoints of the Service ports that this node proxies, also those that are not ready.',
    },
    (gauge) => {
      for (const view of views()) {
        let endpoints = 0
        for (const route of view.routesByKey.values()) endpoints += route.endpoints.length
        gauge.set(familyLabel(view.family), endpoints)
      }
    },
  )
}
