import { nftablesAbilities } from '../../backends/nftables/abilities.ts'
import { NftablesBackend } from '../../backends/nftables/nftables-backend.ts'
import { allPieces, routePieces } from '../../backends/nftables/pieces.ts'
import { planNftables } from '../../backends/nftables/plan.ts'
import type { NftablesPlan } from '../../backends/nftables/plan.ts'
import { renderPlan } from '../../backends/nftables/render.ts'
import { currentState } from '../../backends/nftables/settings.ts'
import { nftablesTraits } from '../../backends/nftables/traits.ts'
import type { NodeView } from '../../core/backend.ts'
import { supportsNft } from '../../dataplane/nft/command/find-nft.ts'
import { NftTables } from '../../dataplane/nft/nft-tables.ts'
import { NftError } from '../../dataplane/nft/nft.ts'
import { PrometheusNftablesMetrics } from '../../observe/metrics/nftables-metrics.ts'
import { CommandError } from '../program.ts'
import type { Mode, ModeContext, ModeOnNode, RenderSettings } from './mode.ts'
import { openConnections } from './stale-connections.ts'
import { trafficSettings } from './traffic-settings.ts'
import { linuxRules } from './workings.ts'

export const nftablesMode: Mode = {
  name: 'nftables',
  carriesTraffic: false,
  endpointRules: 'usual',
  abilities: nftablesAbilities,
  traits: () => nftablesTraits,
  onNode: (context) => nftablesOnNode(context, () => []),
  ...nftablesInWords(() => []),
}

/** What it would program. */
export function nftablesInWords(
  untrackedPods: (settings: RenderSettings) => readonly string[],
): Pick<Mode, 'render' | 'pieces'> {
  const planOf = (view: NodeView, settings: RenderSettings): NftablesPlan => {
    const traffic = trafficSettings(view.family, settings)
    return planNftables(view, currentState({ ...traffic, untrackedPods: untrackedPods(settings) }))
  }
  return {
    render: (view, settings) => [{ part: 'nftables', text: renderPlan(planOf(view, settings)) }],

    pieces(view, settings, key) {
      const pieces = routePieces(planOf(view, settings), key)
      return pieces === undefined ? [] : allPieces(pieces)
    },
  }
}

/** `untrackedPods`: as of the time when a backend is made. */
export function nftablesOnNode(context: ModeContext, untrackedPods: () => readonly string[]): ModeOnNode {
  const { host, log, metrics, settings, settingsOf } = context
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
      const untracked = untrackedPods()
      const { staleConnections, openConnections: open } = await openConnections(context)
      return {
        backend: new NftablesBackend({
          family,
          table: await tables.open(family, log, signal),
          state: () => currentState({ ...trafficSettings(family, settingsOf(family)), untrackedPods: untracked }),
          countsConnections: (routes) => routes <= settings().config.fairlead.serviceSeriesLimit,
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
