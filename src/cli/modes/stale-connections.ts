import { conntrackReconciler } from '../../dataplane/conntrack/conntrack-reconciler.ts'
import type { ConntrackReconciler } from '../../dataplane/conntrack/conntrack-reconciler.ts'
import { openConntrack } from '../../dataplane/conntrack/open-conntrack.ts'
import { PrometheusConntrackMetrics } from '../../observe/metrics/conntrack-metrics.ts'
import type { ModeContext } from './mode.ts'

/** Deletes, after a sync, the connections that the kernel would go on sending to endpoints that are gone. */
export async function openStaleConnections({
  host,
  metrics,
  log,
}: Pick<ModeContext, 'host' | 'metrics' | 'log'>): Promise<ConntrackReconciler> {
  const { exec, openNetlink, clock } = host
  const conntrack = await openConntrack({ openNetlink, exec, log })
  return conntrackReconciler({ conntrack, clock, log, metrics: new PrometheusConntrackMetrics(metrics) })
}
