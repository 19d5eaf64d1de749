import { NftablesBackend } from '../../backends/nftables/nftables-backend.ts'
import { renderTable } from '../../backends/nftables/render.ts'
import { currentState } from '../../backends/nftables/settings-source.ts'
import { conntrackReconciler } from '../../dataplane/conntrack/conntrack-reconciler.ts'
import { openConntrack } from '../../dataplane/conntrack/open-conntrack.ts'
import { processExec as exec } from '../../dataplane/exec/exec.ts'
import { openDatagrams, openNetlink } from '../../dataplane/netlink/open-netlink.ts'
import { supportsNft } from '../../dataplane/nft/find-nft.ts'
import { NftTables } from '../../dataplane/nft/nft-tables.ts'
import { NftError } from '../../dataplane/nft/nft.ts'
import { PrometheusConntrackMetrics } from '../../observe/metrics/conntrack-metrics.ts'
import { PrometheusNftablesMetrics } from '../../observe/metrics/nftables-metrics.ts'
import { CommandError } from '../program.ts'
import type { Mode } from './mode.ts'
import { trafficSettings } from './traffic-settings.ts'

export const nftablesMode: Mode = nftablesModeOf(new NftTables({ exec, openDatagrams }))

function nftablesModeOf(tables: NftTables): Mode {
  return {
    name: 'nftables',
    usesKernel: true,

    async supports(family, _context, signal) {
      try {
        return await supportsNft({ family, exec }, signal)
      } catch (error) {
        if (!(error instanceof NftError)) throw error
        const wayOut =
          error.reason === 'not-permitted' ? 'run as root, or give the container CAP_NET_ADMIN' : error.message
        throw new CommandError(`the nftables mode cannot run here: ${wayOut}`)
      }
    },

    async prepare() {},

    async createBackend(family, context, signal) {
      const { clock, log, metrics, serviceSeriesLimit } = context
      const conntrack = await openConntrack({ openNetlink, exec, log })
      const settings = trafficSettings(family, context)
      return {
        backend: new NftablesBackend({
          family,
          table: await tables.open(family, log, signal),
          state: () => currentState(settings),
          countsConnections: (routes) => routes <= serviceSeriesLimit,
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
}
