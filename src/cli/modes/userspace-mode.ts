import { userspaceAbilities } from '../../backends/userspace/abilities.ts'
import { portalPieces, renderPortals } from '../../backends/userspace/portals/render.ts'
import { portalSettings } from '../../backends/userspace/portals/settings.ts'
import type { PortalSettings } from '../../backends/userspace/portals/settings.ts'
import { portalTraits } from '../../backends/userspace/traits.ts'
import type { NodeView } from '../../core/backend.ts'
import { OwnPods } from '../../core/node/own-pods.ts'
import { isLoopback } from '../../net/ip.ts'
import { loopbackMode } from './loopback-mode.ts'
import type { Mode, ModePlace, ModeSettings } from './mode.ts'
import { portalMode } from './portal-mode.ts'
import { trafficSettings } from './traffic-settings.ts'

/** Needs no kernel rules on a developer's machine, where Services are served on loopback; on a node it uses portals. */
export const userspaceMode: Mode = {
  name: 'userspace',
  carriesTraffic: true,
  endpointRules: 'usual',
  abilities: userspaceAbilities,
  traits: () => portalTraits,
  allowsLoopbackAt: (place) => whyNoPortals(place) !== undefined,

  onNode(context) {
    const { nodeIp, log } = context
    const obstacle = whyNoPortals(context)
    if (obstacle === undefined) {
      log.info('kernel rules send traffic for Services to this process', { nodeIP: nodeIp })
      return portalMode(context)
    }
    log.info('Services are served on loopback only', { reason: obstacle })
    return loopbackMode(context)
  },

  render(view, settings) {
    const portals = settingsOf(view, settings)
    const { rules, listeners, routing } = renderPortals(view, portals)
    return [
      { part: 'iptables', text: rules },
      { part: 'listeners', text: listeners },
      { part: 'routing', text: routing },
    ]
  },

  pieces(view, settings, key) {
    return portalPieces(view, settingsOf(view, settings), key)
  },
}

function settingsOf(view: NodeView, settings: ModeSettings): PortalSettings {
  const traffic = trafficSettings(view.family, settings)
  const pods = new OwnPods(traffic.localTraffic, settings.podCIDRs)
  for (const { endpoints } of view.routesByKey.values()) pods.note(endpoints)
  return portalSettings({ ...traffic, localTraffic: pods.localTraffic }, view.node)
}

function whyNoPortals({ host, nodeIp, localIps }: ModePlace): string | undefined {
  if (host.platform !== 'linux') return 'only Linux has the rules for other addresses'
  if (!host.process.isRoot) return 'not running as root'
  if (isLoopback(nodeIp)) return `the node's address is ${nodeIp}`
  return localIps().includes(nodeIp) ? undefined : `the node's address ${nodeIp} is not an address of this machine`
}
