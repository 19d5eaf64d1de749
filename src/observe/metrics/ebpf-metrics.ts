/** What the ebpf mode does besides connecting sockets. */
import type { Counter, MetricRegistry } from './prometheus.ts'

export function destroyedSockets(registry: MetricRegistry): Counter<'protocol'> {
  return registry.counter({
    name: 'fairlead_sockets_destroyed_total',
    labels: ['protocol'],
    help: 'Sockets on this node that were ended because their endpoint was gone, in ebpf mode.',
  })
}
