import type { NodeView } from '../../core/backend.ts'
import type { RouteKey } from '../../core/route.ts'
import { familyLabel } from './family-label.ts'
import type { MetricRegistry } from './prometheus.ts'

/** One family: its routes, and how many new connections each of them got. */
export interface CountedView {
  readonly view: NodeView
  readonly connections: ReadonlyMap<RouteKey, number>
}

/** Read from the data plane at each scrape. There is a series for each Service port, so their number is limited. */
export function addConnectionMetrics(registry: MetricRegistry, read: () => Promise<readonly CountedView[]>): void {
  registry.counterFrom(
    {
      name: 'fairlead_service_connections_total',
      labels: ['namespace', 'service', 'port', 'protocol', 'ip_family'],
      help: 'New connections to each Service port, as far as the mode can count them.',
    },
    async () => {
      const counted = await read()
      return counted.flatMap(({ view, connections }) =>
        [...connections].flatMap(([key, value]) => {
          const route = view.routesByKey.get(key)
          if (route === undefined) return []
          const { namespace, name: service, portName: port, protocol } = route
          return [{ labels: { namespace, service, port, protocol, ...familyLabel(view.family) }, value }]
        }),
      )
    },
  )
}
