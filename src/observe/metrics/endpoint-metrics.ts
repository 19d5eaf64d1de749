import type { Traffic } from '../../core/traffic.ts'
import type { CarriedView } from '../traffic/traffic-book.ts'
import { directed } from './directed.ts'
import { familyLabel } from './family-label.ts'
import type { MetricRegistry, Series } from './prometheus.ts'

const labels = ['namespace', 'service', 'port', 'protocol', 'ip_family', 'endpoint'] as const
type Label = (typeof labels)[number]

/** The same as for each Service port, for each endpoint that it may use. A mode has those that it can know. */
export function addEndpointMetrics(registry: MetricRegistry, read: () => Promise<readonly CarriedView[]>): void {
  const seriesOf = async (value: (traffic: Traffic) => number | undefined) =>
    (await read()).flatMap((carried) => seriesFor(carried, value))

  registry.counterFrom(
    {
      name: 'fairlead_endpoint_connections_total',
      labels,
      help: 'New connections to each endpoint of each Service port, as far as the mode can count them.',
    },
    () => seriesOf(({ connections }) => connections),
  )
  registry.counterFrom(
    {
      name: 'fairlead_endpoint_bytes_total',
      labels: [...labels, 'direction'],
      help: 'Bytes carried for each endpoint of each Service port: in from clients, out to clients.',
    },
    async () => [
      ...(await seriesOf(({ bytesIn }) => bytesIn)).map((series) => directed(series, 'in')),
      ...(await seriesOf(({ bytesOut }) => bytesOut)).map((series) => directed(series, 'out')),
    ],
  )
  registry.counterFrom(
    {
      name: 'fairlead_endpoint_dial_failures_total',
      labels,
      help: 'Attempts to reach each endpoint of each Service port that failed.',
    },
    () => seriesOf(({ dialFailures }) => dialFailures),
  )
  registry.gaugeFrom(
    {
      name: 'fairlead_endpoint_open_connections',
      labels,
      help: 'Connections to each endpoint of each Service port that are open now.',
    },
    () => seriesOf(({ open }) => open),
  )
}

function seriesFor(
  { view, traffic }: CarriedView,
  valueOf: (traffic: Traffic) => number | undefined,
): readonly Series<Label>[] {
  const series: Series<Label>[] = []
  for (const [key, { endpoints }] of traffic) {
    const route = view.routesByKey.get(key)
    if (route === undefined || endpoints === undefined) continue
    const { namespace, name: service, portName: port, protocol } = route
    // Not those that are gone: their number has no limit.
    for (const { address } of route.reachableEndpoints) {
      const carried = endpoints.get(address)
      const value = carried && valueOf(carried)
      if (value === undefined) continue
      const ofEndpoint = { namespace, service, port, protocol, ...familyLabel(view.family), endpoint: address }
      series.push({ labels: ofEndpoint, value })
    }
  }
  return series
}
