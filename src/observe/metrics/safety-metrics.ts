import type { TimeToSafety } from '../../core/sync/time-to-safety.ts'
import { families } from '../../net/ip.ts'
import { familyLabel } from './family-label.ts'
import type { MetricRegistry } from './prometheus.ts'

/** There is no value as long as no endpoint was removed: 0 would promise something. */
export function addSafetyMetrics(registry: MetricRegistry, safety: Pick<TimeToSafety, 'longestOfLastHour'>): void {
  registry.gaugeFrom(
    {
      name: 'fairlead_safe_prestop_seconds',
      labels: ['ip_family'],
      help: 'The longest removal of an endpoint in the last hour: a preStop delay as long as this would have been safe on this node.',
    },
    async () =>
      families.flatMap((family) => {
        const longest = safety.longestOfLastHour([family])
        return longest === undefined ? [] : [{ labels: familyLabel(family), value: longest.seconds }]
      }),
  )
}
