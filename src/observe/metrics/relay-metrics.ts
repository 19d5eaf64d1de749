/** What the relay of the userspace mode does as a whole. Nothing here has a series for each Service. */
import { Exemplars } from './exemplars.ts'
import type { Exemplar } from './exemplars.ts'
import type { Distribution, MetricRegistry, Series } from './prometheus.ts'

interface Durations {
  readonly bounds: readonly number[]
  readonly counts: readonly number[]
  readonly seconds: number
}

interface Carried {
  readonly connections: number
  readonly active: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly turnedAway: Readonly<Record<string, number>>
  readonly limited: Readonly<Record<string, number>>
}

export interface RelayNumbers {
  readonly carried: { readonly TCP: Carried; readonly UDP: Carried }
  readonly dials: number
  readonly dialFailures: Readonly<Record<string, number>>
  readonly avoided: number
  readonly connections: Durations
  readonly dialled: Durations
  readonly undialled: Durations
  readonly descriptors: { readonly used: number; readonly budget: number }
}

/** Where a trace tells more about a duration. */
export class RelayExemplars {
  readonly connections = new Exemplars()
  readonly dialled = new Exemplars()
  readonly undialled = new Exemplars()
}

export interface RelaySources {
  /** Undefined: there is no relay, or none any more. */
  readonly read: () => RelayNumbers | undefined
  readonly exemplars: RelayExemplars
  /** Those of a port range that are not in use. Empty where any port will do. */
  readonly freePorts: () => readonly Series<'ip_family' | 'protocol'>[]
}

const protocols = ['TCP', 'UDP'] as const

export function addRelayMetrics(registry: MetricRegistry, { read, exemplars, freePorts }: RelaySources): void {
  const now = <T>(series: (numbers: RelayNumbers) => readonly T[]): readonly T[] => {
    const numbers = read()
    return numbers === undefined ? [] : series(numbers)
  }
  const later =
    <T>(series: (numbers: RelayNumbers) => readonly T[]) =>
    () =>
      Promise.resolve(now(series))
  registry.gaugeFrom(
    { name: 'fairlead_relay_active_connections', labels: [], help: 'TCP connections that are relayed now.' },
    later(({ carried }) => [single(carried.TCP.active)]),
  )
  registry.gaugeFrom(
    { name: 'fairlead_relay_udp_clients', labels: [], help: 'UDP clients that are not idle.' },
    later(({ carried }) => [single(carried.UDP.active)]),
  )
  registry.counterFrom(
    {
      name: 'fairlead_relay_accepted_total',
      labels: ['protocol'],
      help: 'Connections and UDP clients that came to the relay.',
    },
    later(({ carried }) =>
      protocols.map((protocol) => ({ labels: { protocol }, value: carried[protocol].connections })),
    ),
  )
  registry.counterFrom(
    {
      name: 'fairlead_relay_accept_drops_total',
      labels: ['protocol', 'reason'],
      help: 'Connections and UDP clients that came to the relay and were turned away.',
    },
    later(({ carried }) =>
      protocols.flatMap((protocol) => byReason(carried[protocol].turnedAway).map((one) => withProtocol(one, protocol))),
    ),
  )
  registry.counterFrom(
    {
      name: 'fairlead_relay_limited_connections_total',
      labels: ['protocol', 'event'],
      help: 'Connections and UDP clients that a limit of their Service acted on.',
    },
    later(({ carried }) =>
      protocols.flatMap((protocol) =>
        Object.entries(carried[protocol].limited).map(([event, value]) => ({ labels: { protocol, event }, value })),
      ),
    ),
  )
  registry.counterFrom(
    {
      name: 'fairlead_relay_bytes_total',
      labels: ['direction'],
      help: 'Bytes relayed: in from clients, out to clients.',
    },
    later(({ carried: { TCP, UDP } }) => [
      { labels: { direction: 'in' }, value: TCP.bytesIn + UDP.bytesIn },
      { labels: { direction: 'out' }, value: TCP.bytesOut + UDP.bytesOut },
    ]),
  )
  registry.counterFrom(
    { name: 'fairlead_relay_dial_attempts_total', labels: [], help: 'Attempts to reach an endpoint.' },
    later(({ dials }) => [single(dials)]),
  )
  registry.counterFrom(
    {
      name: 'fairlead_relay_dial_failures_total',
      labels: ['reason'],
      help: 'Attempts to reach an endpoint that failed.',
    },
    later(({ dialFailures }) => byReason(dialFailures)),
  )
  registry.counterFrom(
    {
      name: 'fairlead_relay_avoided_endpoints_total',
      labels: [],
      help: 'How often an endpoint did not answer that had answered before, and was tried last from then on.',
    },
    later(({ avoided }) => [single(avoided)]),
  )
  registry.histogramFrom(
    {
      name: 'fairlead_relay_connection_duration_seconds',
      labels: [],
      help: 'How long TCP connections lasted, from the answer of the endpoint until both sockets were closed.',
    },
    () => now(({ connections }) => [distribution({}, connections, exemplars.connections.byBucket)]),
  )
  registry.histogramFrom(
    {
      name: 'fairlead_relay_dial_duration_seconds',
      labels: ['result'],
      help: 'How long attempts to reach an endpoint took (TCP).',
    },
    () =>
      now(({ dialled, undialled }) => [
        distribution({ result: 'connected' }, dialled, exemplars.dialled.byBucket),
        distribution({ result: 'failed' }, undialled, exemplars.undialled.byBucket),
      ]),
  )
  registry.gaugeFrom(
    { name: 'fairlead_relay_descriptors_used', labels: [], help: 'Descriptors that the relay has open.' },
    later(({ descriptors }) => [single(descriptors.used)]),
  )
  registry.gaugeFrom(
    {
      name: 'fairlead_relay_descriptors_limit',
      labels: [],
      help: 'Descriptors that the relay may have open before it turns clients away.',
    },
    later(({ descriptors }) => [single(descriptors.budget)]),
  )
  registry.gaugeFrom(
    {
      name: 'fairlead_relay_proxy_ports_free',
      labels: ['ip_family', 'protocol'],
      help: 'Ports of the range for proxy ports that no Service has.',
    },
    () => Promise.resolve(freePorts()),
  )
}

function single(value: number): Series<never> {
  return { labels: {}, value }
}

function byReason(counts: Readonly<Record<string, number>>): readonly Series<'reason'>[] {
  return Object.entries(counts).map(([reason, value]) => ({ labels: { reason }, value }))
}

function withProtocol({ labels, value }: Series<'reason'>, protocol: string): Series<'protocol' | 'reason'> {
  return { labels: { protocol, ...labels }, value }
}

function distribution<Label extends string>(
  labels: Readonly<Record<Label, string>>,
  { bounds, counts, seconds }: Durations,
  exemplars: readonly (Exemplar | undefined)[],
): Distribution<Label> {
  return { labels, bounds, counts, sum: seconds, exemplars }
}
