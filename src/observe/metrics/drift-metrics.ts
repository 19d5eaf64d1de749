import type { DriftMemory } from '../../core/sync/drift-memory.ts'
import type { Family } from '../../net/ip.ts'
import { familyLabel } from './family-label.ts'
import type { MetricRegistry } from './prometheus.ts'

export function addDriftMetrics(
  registry: MetricRegistry,
  memory: Pick<DriftMemory, 'totalOf'>,
  families: () => readonly Family[],
): void {
  registry.counterFrom(
    {
      name: 'fairlead_drift_total',
      labels: ['ip_family'],
      help: 'Times that another program was found to have changed what the proxy had programmed. Each is repaired.',
    },
    async () => families().map((family) => ({ labels: familyLabel(family), value: memory.totalOf(family) })),
  )
}
