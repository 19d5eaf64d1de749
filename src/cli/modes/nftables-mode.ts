import { NftablesBackend } from '../../backends/nftables/nftables-backend.ts'
import { planNftables } from '../../backends/nftables/plan.ts'
import { renderPlan } from '../../backends/nftables/render.ts'
import { currentState } from '../../backends/nftables/settings.ts'
import { nftablesTraits } from '../../backends/nftables/traits.ts'
import { supportsNft } from '../../dataplane/nft/command/find-nft.ts'
import { NftTables } from '../../dataplane/nft/nft-tables.ts'
import { NftError } from '../../dataplane/nft/nft.ts'
import { PrometheusNftablesMetrics } from '../../observe/metrics/nftables-metrics.ts'
import { CommandError } from '../program.ts'
import type { Mode, ModeContext, ModeOnNode } from './mode.ts'
import { openConnections } from './stale-connections.ts'
import { trafficSettings } from './traffic-settings.ts'
import { linuxRules } from './workings.ts'

export const nftablesMode: Mode = {
  name: 'nftables',
  carriesTraffic: false,
  endpointRules: 'usual',
  traits: () => nftablesTraits,
  onNode,

  render(view, settings) {
    const plan = planNftables(view, currentState(trafficSettings(view.family, settings)))
    return [{ part: 'nftables', text: renderPlan(plan) }]
  },
}

function onNode(context: ModeContext): ModeOnNode {
  const { host, log, metrics, serviceSeriesLimit } = context
  const { exec, openDatagrams, env, clock } = host
  const kernelRelease = host.kernelRelease()
  const tables = new NftTables({ exec, openDatagrams, env, kernelRelease })
  return {
    name: 'nftables',
    traits: nftablesTraits,
    ...linuxRules,

    async supports(family, signal) {
      try {
        return await supportsNft({ family, exec, env, kernelRelease }, signal)
      } catch (error) {
        if (!(error instanceof NftError)) throw error
        const wayOut =
          error.reason === 'not-permitted' ? 'run as root, or give the container CAP_NET_ADMIN' : error.message
        throw new CommandError(`the nftables mode cannot run here: ${wayOut}`)
      }
    },

    prepare: () => Promise.resolve(),

    async createBackend(family, signal) {
      const { staleConnections, openConnections: open } = await openConnections(context)
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
        afterSync: [staleConnections],
        openConnections: open,
      }
    },
  }
}
