/** The userspace mode of Windows: on a node at the addresses of Services, elsewhere on loopback. */
import { userspaceAbilities } from '../../backends/userspace/abilities.ts'
import { socketTraits } from '../../backends/userspace/traits.ts'
import { windowsPieces } from '../../backends/userspace/windows/pieces.ts'
import { renderWindows } from '../../backends/userspace/windows/render.ts'
import type { RenderOptions as WindowsOptions } from '../../backends/userspace/windows/render.ts'
import { WindowsBackend } from '../../backends/userspace/windows/windows-backend.ts'
import { nodePortAddresses, nodePortIps } from '../../core/node/node-port-addresses.ts'
import { openOwnedObjects } from '../../dataplane/owned-objects/file-owned-objects.ts'
import type { OwnedObjects } from '../../dataplane/owned-objects/owned-objects.ts'
import { CommandNetsh } from '../../dataplane/netsh/command-netsh.ts'
import { howToBeAdministrator, interfaceNameFrom, NetshError } from '../../dataplane/netsh/netsh.ts'
import type { Netsh } from '../../dataplane/netsh/netsh.ts'
import { isLoopback } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { CommandError } from '../program.ts'
import { endingWith } from './ending-with.ts'
import { loopbackMode } from './loopback-mode.ts'
import type { Mode, ModeContext, ModeOnNode, ModePlace, ModeSettings } from './mode.ts'
import { serviceAddressesPath } from './windows-records.ts'
import type { Workings } from './workings.ts'

export const windowsUserspaceMode: Mode = {
  name: 'userspace',
  carriesTraffic: true,
  endpointRules: 'usual',
  abilities: userspaceAbilities,
  traits: () => socketTraits,
  allowsLoopbackAt: (place) =>
    whyOnlyLoopback(place) !== undefined || workingsWith(interfaceNameFrom(place.host.env)).allowsLoopback,

  onNode(context) {
    const obstacle = whyOnlyLoopback(context)
    if (obstacle === undefined) return onWindowsNode(context)
    const says = 'Services are served on loopback only'
    if (isLoopback(context.config.bindAddress)) context.log.info(says, { reason: 'chosen with --bind-address' })
    // On a node nothing else would tell that no pod is served.
    else context.log.warn(says, obstacle)
    return loopbackMode(context)
  },

  render(view, settings) {
    const { addresses, listeners } = renderWindows(view, imagined(view.family, settings))
    return [
      { part: 'netsh', text: addresses },
      { part: 'listeners', text: listeners },
    ]
  },

  pieces: (view, settings, key) => windowsPieces(view, key, imagined(view.family, settings)),
}

/** A node that need not exist, so the environment of this process does not matter. */
function imagined(family: Family, { nodePortAddresses: texts, localIps }: ModeSettings): WindowsOptions {
  const open = nodePortIps(nodePortAddresses(texts, family), localIps(), () => true)
  return { interfaceName: interfaceNameFrom({}), nodePortIps: open }
}

interface Obstacle extends Record<string, string> {
  readonly reason: string
  readonly fix: string
}

function whyOnlyLoopback({ host, nodeIp }: ModePlace): Obstacle | undefined {
  if (!host.process.isRoot)
    return { reason: 'not running as an administrator, who may add addresses', fix: howToBeAdministrator }
  if (!isLoopback(nodeIp)) return undefined
  const fix = 'give the name of the Node with --hostname-override, or its address with --bind-address'
  return { reason: `the node's address is ${nodeIp}`, fix }
}

function onWindowsNode(context: ModeContext): ModeOnNode {
  const { host, stateDir, log } = context
  const { exec, clock } = host
  const interfaceName = interfaceNameFrom(host.env)
  log.info('Services are served at their own addresses, which are added to an interface', { interface: interfaceName })
  // One for both families, so that not too many programs run at a time.
  const netsh = new CommandNetsh({ exec, interfaceName, clock })
  let owned: Promise<OwnedObjects> | undefined
  const ownedAddresses = () => (owned ??= openOwnedObjects({ path: serviceAddressesPath(stateDir, host), log }))

  return {
    name: 'userspace',
    traits: socketTraits,
    ...workingsWith(interfaceName),
    supports: () => Promise.resolve(true),
    prepare: () => lookAtInterface(netsh, context),

    async createBackend(family) {
      const addresses = await ownedAddresses()
      // Last of what can fail: nobody would give back a relay that has no backend yet.
      const relay = await context.borrowRelay({ mayBeTransparent: false })
      const backend = new WindowsBackend({
        relay,
        netsh,
        owned: addresses,
        family,
        localIps: context.localIps,
        nodePortAddresses: () => nodePortAddresses(context.settingsOf(family).nodePortAddresses, family),
        clock,
        log,
      })
      // The last to give the relay back ends the connections of clients.
      return { backend: endingWith(backend, relay), afterSync: [] }
    },
  }
}

/** Loopback addresses belong on the loopback interface: where an operator has chosen that one, Services may have them. */
function workingsWith(interfaceName: string): Workings {
  return {
    tracksConnections: false,
    replacesOtherModes: true,
    isOnlyOne: true,
    allowsLoopback: /loopback/i.test(interfaceName),
    nodePorts: 'as-configured',
  }
}

/** Long enough for a machine that starts. */
const lookTimeoutMs = 30_000

/** An interface that is missing may come with the first pod. Without netsh nothing will ever work. */
async function lookAtInterface(netsh: Netsh, { log }: ModeContext): Promise<void> {
  try {
    await netsh.list('ipv4', AbortSignal.timeout(lookTimeoutMs))
  } catch (error) {
    if (!(error instanceof NetshError)) throw error
    if (error.reason === 'tool-missing')
      throw new CommandError(`the userspace mode cannot run here: ${error.message}`, { cause: error })
    log.warn('the interface for the addresses of Services cannot be looked at yet', { problem: error.message })
  }
}
