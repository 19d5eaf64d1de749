import { renderPortals } from '../../backends/userspace/portals/render.ts'
import { portalSettings } from '../../backends/userspace/portals/settings.ts'
import { UserspaceBackend } from '../../backends/userspace/userspace-backend.ts'
import type { Backend } from '../../core/backend.ts'
import type { Relay } from '../../dataplane/relay/relay.ts'
import { isLoopback } from '../../net/ip.ts'
import type { Mode } from './mode.ts'
import { portalMode } from './portal-mode.ts'
import { trafficSettings } from './traffic-settings.ts'

/** Without rules: each Service is served at a loopback address of this machine. On a node it is the portal mode. */
export const userspaceMode: Mode = {
  name: 'userspace',
  usesKernel: false,

  onNode({ ip, platform, isRoot }, { localIps, log }) {
    const obstacle = whyNoPortals(ip, platform, isRoot, localIps())
    if (obstacle === undefined) {
      log.info('kernel rules send traffic for Services to this process', { nodeIP: ip })
      return portalMode
    }
    log.info('Services are served on loopback only', { reason: obstacle })
    return undefined
  },

  supports: () => Promise.resolve(true),
  prepare: () => Promise.resolve(),

  async createBackend(_family, { log, listen, borrowRelay }) {
    const relay = await borrowRelay({ mayBeTransparent: false })
    return { backend: endingWith(relay, new UserspaceBackend({ relay, listen, log })), afterSync: [] }
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

function whyNoPortals(
  nodeIp: string,
  platform: NodeJS.Platform,
  isRoot: boolean,
  localIps: readonly string[],
): string | undefined {
  if (platform !== 'linux') return 'only Linux has the rules for other addresses'
  if (!isRoot) return 'not running as root'
  if (isLoopback(nodeIp)) return `the node's address is ${nodeIp}`
  return localIps.includes(nodeIp) ? undefined : `the node's address ${nodeIp} is not an address of this machine`
}

/** A relay that was made for one backend ends with it, and so do the connections of its clients. */
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
