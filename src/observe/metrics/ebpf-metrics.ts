/** What the ebpf mode does at the sockets of this node. */
import type { Family } from '../../net/ip.ts'
import { familyLabel } from './family-label.ts'
import type { Counter, Histogram, MetricRegistry } from './prometheus.ts'

type SizedMap = 'frontends' | 'services' | 'slots' | 'endpoints'

/** Read at each scrape. */
export interface EbpfReadings {
  /** How often the programs came to each result, by family. */
  choices(): Iterable<readonly [Family, Readonly<Record<string, number>>]>
  /** By map. Undefined: nobody knows. */
  usage():
    | { readonly entries: Readonly<Record<SizedMap, number>>; readonly capacities: Readonly<Record<SizedMap, number>> }
    | undefined
}

export interface EbpfMetrics {
  readonly destroyedSockets: Counter<'protocol'>
  readonly syncDurations: Histogram<'ip_family'>
}

/** A store takes a microsecond, the first sync of a large cluster a second. */
const syncBounds = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5]

export function addEbpfMetrics(registry: MetricRegistry, readings: EbpfReadings): EbpfMetrics {
  registry.counterFrom(
    {
      name: 'fairlead_socket_choices_total',
      labels: ['result', 'ip_family'],
      help: 'How often the programs of the ebpf mode connected a socket to an endpoint, refused it, left it to the packets, or chose again.',
    },
    async () =>
      [...readings.choices()].flatMap(([family, counts]) =>
        Object.entries(counts).map(([result, value]) => ({ labels: { result, ...familyLabel(family) }, value })),
      ),
  )
  const gauge = (name: string, help: string, of: 'entries' | 'capacities') =>
    registry.gaugeFrom({ name, labels: ['map'], help }, async () =>
      Object.entries(readings.usage()?.[of] ?? {}).map(([map, value]) => ({ labels: { map }, value })),
    )
  gauge('fairlead_ebpf_map_entries', 'Elements of the maps of the ebpf mode that are in use.', 'entries')
  gauge('fairlead_ebpf_map_capacity', 'Elements that the maps of the ebpf mode have room for now.', 'capacities')
  return {
    destroyedSockets: registry.counter({
      name: 'fairlead_sockets_destroyed_total',
      labels: ['protocol'],
      help: 'Sockets on this node that were ended because their endpoint was gone, in ebpf mode.',
    }),
    syncDurations: registry.histogram(
      {
        name: 'fairlead_ebpf_sync_duration_seconds',
        labels: ['ip_family'],
        help: 'How long it took to program the sockets in a sync of the ebpf mode, without the packets.',
      },
      syncBounds,
    ),
  }
}
