import { NftablesBackend } from '../../backends/nftables/nftables-backend.ts'
import { renderTable } from '../../backends/nftables/render.ts'
import { currentState } from '../../backends/nftables/settings-source.ts'
import { conntrackReconciler } from '../../dataplane/conntrack/conntrack-reconciler.ts'
import { openConntrack } from '../../dataplane/conntrack/open-conntrack.ts'
import { processExec as exec } from '../../dataplane/exec/exec.ts'
import { openNetlink } from '../../dataplane/netlink/open-netlink.ts'
import { CommandNftTable } from '../../dataplane/nft/command-nft.ts'
import { PrometheusConntrackMetrics } from '../../observe/metrics/conntrack-metrics.ts'
import { PrometheusNftablesMetrics } from '../../observe/metrics/nftables-metrics.ts'
import type { Mode } from './mode.ts'
import { trafficSettings } from './traffic-settings.ts'

export const nftablesMode: Mode = {
  name: 'nftables',
  usesKernel: true,

  async supports() {
    return true
  },

  async prepare() {},

  async createBackend(family, context) {
    const { clock, log, metrics } = context
    const conntrack = await openConntrack({ openNetlink, exec, log })
    const settings = trafficSettings(family, context)
    return {
      backend: new NftablesBackend({
        family,
        table: new CommandNftTable({ family, exec, hasObjectComments: true }),
        state: () => currentState(settings),
        countsConnections: (routes) => routes <= context.serviceSeriesLimit,
        metrics: new PrometheusNftablesMetrics(metrics, family),
        clock,
        log,
      }),
      afterSync: [conntrackReconciler({ conntrack, clock, log, metrics: new PrometheusConntrackMetrics(metrics) })],
    }
  },

  render(view, settings) {
    return [{ part: 'nftables', text: renderTable(view, currentState(trafficSettings(view.family, settings))) }]
  },
}
