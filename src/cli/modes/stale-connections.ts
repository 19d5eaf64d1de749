import { ConnectionReader } from '../../dataplane/conntrack/connection-reader.ts'
import { conntrackReconciler } from '../../dataplane/conntrack/conntrack-reconciler.ts'
import type { ConntrackReconciler } from '../../dataplane/conntrack/conntrack-reconciler.ts'
import { openConntrack } from '../../dataplane/conntrack/open-conntrack.ts'
import { PrometheusConntrackMetrics } from '../../observe/metrics/conntrack-metrics.ts'
import type { ModeContext } from './mode.ts'

type Context = Pick<ModeContext, 'host' | 'metrics' | 'log'>

/** Deletes, after a sync, the connections that the kernel would go on sending to endpoints that are gone. */
export async function openStaleConnections(context: Context): Promise<ConntrackReconciler> {
  return (await openConnections(context)).staleConnections
}

export interface Connections {
  readonly staleConnections: ConntrackReconciler
  /** What is open now, for a mode that does not know it itself. */
  readonly openConnections: ConnectionReader
}

export async function openConnections({ host, metrics, log }: Context): Promise<Connections> {
  const { exec, openNetlink, clock, sysctl } = host
  const conntrack = await openConntrack({ openNetlink, exec, log })
  const hasAccounting = async () => (await sysctl.read('net/netfilter/nf_conntrack_acct')) === '1'
  return {
    staleConnections: conntrackReconciler({ conntrack, clock, log, metrics: new PrometheusConntrackMetrics(metrics) }),
    openConnections: new ConnectionReader({ conntrack, hasAccounting, clock, log }),
  }
}
