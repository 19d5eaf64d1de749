import type { Route } from '../../core/route.ts'
import { skewOf } from '../../core/skew.ts'
import type { RouteTraffic } from '../../core/traffic.ts'
import type { CarriedView } from '../traffic/traffic-book.ts'
import { directed } from './directed.ts'
import { familyLabel } from './family-label.ts'
import type { MetricRegistry, Series } from './prometheus.ts'

const labels = ['namespace', 'service', 'port', 'protocol', 'ip_family'] as const
type Label = (typeof labels)[number]

/**
 * Read from the data plane at each scrape. There are series for each Service port, so their number is limited. A mode
 * has those that it can know.
 */
export function addTrafficMetrics(registry: MetricRegistry, read: () => Promise<readonly CarriedView[]>): void {
  const seriesOf = async (value: (traffic: RouteTraffic, route: Route) => number | undefined) =>
    (await read()).flatMap((carried) => seriesFor(carried, value))

  registry.counterFrom(
    {
      name: 'fairlead_service_connections_total',
      labels,
      help: 'New connections to each Service port, as far as the mode can count them.',
    },
    () => seriesOf(({ connections }) => connections),
  )
  registry.counterFrom(
    {
      name: 'fairlead_service_bytes_total',
      labels: [...labels, 'direction'],
      help: 'Bytes carried for each Service port: in from clients, out to clients.',
    },
    async () => [
      ...(await seriesOf(({ bytesIn }) => bytesIn)).map((series) => directed(series, 'in')),
      ...(await seriesOf(({ bytesOut }) => bytesOut)).map((series) => directed(series, 'out')),
    ],
  )
  registry.counterFrom(
    {
      name: 'fairlead_service_dial_failures_total',
      labels,
      help: 'Attempts to reach an endpoint of each Service port that failed.',
    },
    () => seriesOf(({ dialFailures }) => dialFailures),
  )
  registry.counterFrom(
    {
      name: 'fairlead_service_connection_seconds_total',
      labels,
      help: 'Total duration of the ended connections of each Service port, in seconds.',
    },
    () => seriesOf(({ seconds }) => seconds),
  )
  registry.counterFrom(
    {
      name: 'fairlead_service_turned_away_total',
      labels: [...labels, 'reason'],
      help: 'Connections to each Service port that reached no endpoint.',
    },
    async () =>
      (await read()).flatMap((carried) =>
        reasonsIn(carried, 'turnedAway').flatMap((reason) =>
          seriesFor(carried, ({ turnedAway }) => turnedAway?.[reason]).map(({ labels: common, value }) => ({
            labels: { ...common, reason },
            value,
          })),
        ),
      ),
  )
  registry.counterFrom(
    {
      name: 'fairlead_service_limited_connections_total',
      labels: [...labels, 'event'],
      help: 'Connections that a limit of the Service acted on; only for Services that have one.',
    },
    async () =>
      (await read()).flatMap((carried) =>
        reasonsIn(carried, 'limited').flatMap((event) =>
          seriesFor(carried, ({ limited }, route) => (isLimited(route) ? limited?.[event] : undefined)).map(
            ({ labels: common, value }) => ({ labels: { ...common, event }, value }),
          ),
        ),
      ),
  )
  registry.gaugeFrom(
    { name: 'fairlead_service_open_connections', labels, help: 'Connections of each Service port that are open now.' },
    () => seriesOf(({ open }) => open),
  )
  registry.gaugeFrom(
    {
      name: 'fairlead_service_skew',
      labels,
      help: 'Open connections of the endpoint of each Service port that has the most, divided by an even share.',
    },
    () => seriesOf((traffic, route) => skewOf(route, traffic)?.ratio),
  )
  registry.gaugeFrom(
    {
      name: 'fairlead_service_last_use_timestamp_seconds',
      labels,
      help: 'When each Service port was seen to get a connection, in seconds since 1970.',
    },
    () => seriesOf(({ lastUsedMs }) => (lastUsedMs === undefined ? undefined : lastUsedMs / 1000)),
  )
}

function seriesFor(
  { view, traffic }: CarriedView,
  valueOf: (traffic: RouteTraffic, route: Route) => number | undefined,
): readonly Series<Label>[] {
  return [...traffic].flatMap(([key, carried]) => {
    const route = view.routesByKey.get(key)
    const value = route && valueOf(carried, route)
    if (route === undefined || value === undefined) return []
    const { namespace, name: service, portName: port, protocol } = route
    return [{ labels: { namespace, service, port, protocol, ...familyLabel(view.family) }, value }]
  })
}

function reasonsIn({ traffic }: CarriedView, counts: 'turnedAway' | 'limited'): readonly string[] {
  const reasons = new Set<string>()
  for (const carried of traffic.values()) for (const reason in carried[counts]) reasons.add(reason)
  return [...reasons]
}

/** Series for each Service port cost memory, and nearly all Services have no limit. */
function isLimited({ traffic }: Route): boolean {
  return traffic !== undefined && Object.keys(traffic).some((wish) => wish.startsWith('max'))
}
