import { renderPortals } from '../../backends/userspace/portals/render.ts'
import { portalSettings } from '../../backends/userspace/portals/settings.ts'
import { UserspaceBackend } from '../../backends/userspace/userspace-backend.ts'
import type { Backend } from '../../core/backend.ts'
import type { Relay } from '../../dataplane/relay/relay.ts'
import { isLoopback } from '../../net/ip.ts'
import type { Mode, ModeContext, ModeOnNode } from './mode.ts'
import { portalMode } from './portal-mode.ts'
import { trafficSettings } from './traffic-settings.ts'
import { loopbackSockets } from './workings.ts'

/** Needs no kernel rules on a developer's machine, where Services are served on loopback; on a node it uses portals. */
export const userspaceMode: Mode = {
  name: 'userspace',
  carriesTraffic: true,
  endpointRules: 'usual',

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
    const portals = portalSettings(trafficSettings(view.family, settings), view.node)
    const { rules, listeners, routing } = renderPortals(view, portals)
    return [
      { part: 'iptables', text: rules },
      { part: 'listeners', text: listeners },
      { part: 'routing', text: routing },
    ]
  },
}

function whyNoPortals({ host, nodeIp, localIps }: ModeContext): string | undefined {
  if (host.platform !== 'linux') return 'only Linux has the rules for other addresses'
  if (!host.process.isRoot) return 'not running as root'
  if (isLoopback(nodeIp)) return `the node's address is ${nodeIp}`
  return localIps().includes(nodeIp) ? undefined : `the node's address ${nodeIp} is not an address of this machine`
}

/** Each Service is served at a loopback address of this machine. */
function loopbackMode({ borrowRelay, log }: ModeContext): ModeOnNode {
  return {
    name: 'userspace',
    ...loopbackSockets,
    supports: () => Promise.resolve(true),
    prepare: () => Promise.resolve(),

    async createBackend() {
      const relay = await borrowRelay({ mayBeTransparent: false })
      const backend = new UserspaceBackend({ relay, listen: { kind: 'loopback' }, log })
      return { backend: endingWith(relay, backend), afterSync: [] }
    },
  }
}

/** The backend gives its relay back when it ends; the last to do so ends the connections of clients. */
function endingWith(relay: Relay, backend: UserspaceBackend): Backend {
  return {
    name: backend.name,
    sync: (view, change, signal) => backend.sync(view, change, signal),
    traffic: () => backend.traffic(),
    async [Symbol.asyncDispose]() {
      await backend[Symbol.asyncDispose]()
      await relay[Symbol.asyncDispose]()
    },
  }
}
