import type { NodeView, RouteTraffic } from '../../core/backend.ts'
import type { RouteKey } from '../../core/route.ts'
import { familyLabel } from './family-label.ts'
import type { MetricRegistry, Series } from './prometheus.ts'

/** One family: its routes, and the traffic of each of them. */
export interface CarriedView {
  readonly view: NodeView
  readonly traffic: ReadonlyMap<RouteKey, RouteTraffic>
}

const labels = ['namespace', 'service', 'port', 'protocol', 'ip_family'] as const
type Label = (typeof labels)[number]

/**
 * Only for a mode that carries the bytes itself. There are series for each Service port, so their number is limited.
 */
export function addTrafficMetrics(registry: MetricRegistry, read: () => readonly CarriedView[]): void {
  const seriesOf = (value: (traffic: RouteTraffic) => number) => read().flatMap((carried) => seriesFor(carried, value))

  registry.counterFrom(
    {
      name: 'fairlead_service_bytes_total',
      labels: [...labels, 'direction'],
      help: 'Bytes relayed for each Service port: in from clients, out to clients.',
    },
    () =>
      Promise.resolve([
        ...seriesOf(({ bytesIn }) => bytesIn).map((series) => directed(series, 'in')),
        ...seriesOf(({ bytesOut }) => bytesOut).map((series) => directed(series, 'out')),
      ]),
  )
  registry.counterFrom(
    {
      name: 'fairlead_service_dial_failures_total',
      labels,
      help: 'Attempts to reach an endpoint of each Service port that failed.',
    },
    () => Promise.resolve(seriesOf(({ dialFailures }) => dialFailures)),
  )
  registry.counterFrom(
    {
      name: 'fairlead_service_connection_seconds_total',
      labels,
      help: 'Total duration of the ended connections of each Service port, in seconds.',
    },
    () => Promise.resolve(seriesOf(({ seconds }) => seconds)),
  )
  registry.counterFrom(
    {
      name: 'fairlead_service_turned_away_total',
      labels: [...labels, 'reason'],
      help: 'Connections to each Service port that reached no endpoint.',
    },
    () =>
      Promise.resolve(
        read().flatMap((carried) =>
          reasonsIn(carried).flatMap((reason) =>
            seriesFor(carried, ({ turnedAway }) => turnedAway[reason] ?? 0).map(({ labels: common, value }) => ({
              labels: { ...common, reason },
              value,
            })),
          ),
        ),
      ),
  )
  registry.gaugeFrom(
    { name: 'fairlead_service_open_connections', labels, help: 'Connections of each Service port that are open now.' },
    () => seriesOf(({ active }) => active),
  )
}

function seriesFor({ view, traffic }: CarriedView, value: (traffic: RouteTraffic) => number): readonly Series<Label>[] {
  return [...traffic].flatMap(([key, carried]) => {
    const route = view.routesByKey.get(key)
    if (route === undefined) return []
    const { namespace, name: service, portName: port, protocol } = route
    return [{ labels: { namespace, service, port, protocol, ...familyLabel(view.family) }, value: value(carried) }]
  })
}

function reasonsIn({ traffic }: CarriedView): readonly string[] {
  const [first] = traffic.values()
  return Object.keys(first?.turnedAway ?? {})
}

function directed(series: Series<Label>, direction: 'in' | 'out'): Series<Label | 'direction'> {
  return { ...series, labels: { ...series.labels, direction } }
}
