import { kernelspaceAbilities } from '../../backends/kernelspace/abilities.ts'
import { KernelspaceBackend } from '../../backends/kernelspace/kernelspace-backend.ts'
import { allPieces, routePieces } from '../../backends/kernelspace/pieces.ts'
import { planKernelspace } from '../../backends/kernelspace/plan.ts'
import type { KernelspacePlan } from '../../backends/kernelspace/plan.ts'
import { imagine, renderPlan } from '../../backends/kernelspace/render.ts'
import type { KernelspaceSettings } from '../../backends/kernelspace/settings.ts'
import { kernelspaceTraits } from '../../backends/kernelspace/traits.ts'
import { splitHostPort } from '../../config/host-port.ts'
import type { StartConfig } from '../../config/live/how-fields-change.ts'
import type { NodeView } from '../../core/backend.ts'
import { openOwnedObjects } from '../../dataplane/owned-objects/file-owned-objects.ts'
import type { OwnedObjects } from '../../dataplane/owned-objects/owned-objects.ts'
import { familyOf } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { CommandError } from '../program.ts'
import { endingWith } from './ending-with.ts'
import { refusalOf } from './kernelspace/check-hns.ts'
import { isOverlayType } from './kernelspace/find-network.ts'
import { findKernelspaceNode } from './kernelspace/kernelspace-node.ts'
import type { KernelspaceNode } from './kernelspace/kernelspace-node.ts'
import { lendHcn } from './kernelspace/lend-hcn.ts'
import type { LentHcn } from './kernelspace/lend-hcn.ts'
import { settingsWithoutEffect } from './kernelspace/without-effect.ts'
import type { Mode, ModeContext, ModeOnNode, RenderSettings } from './mode.ts'
import { hnsObjectsPath } from './windows-records.ts'
import type { Workings } from './workings.ts'

/** Load balancers of HNS. No connection passes through the kernel of Linux, and HNS opens node ports everywhere. */
const workings: Workings = {
  tracksConnections: false,
  replacesOtherModes: true,
  isOnlyOne: true,
  allowsLoopback: false,
  nodePorts: 'everywhere',
}

export const kernelspaceMode: Mode = {
  name: 'kernelspace',
  carriesTraffic: false,
  endpointRules: 'kernelspace',
  abilities: kernelspaceAbilities,
  traits: () => kernelspaceTraits,
  onNode,

  render(view, settings) {
    const plan = planOf(view, settings)
    return plan === undefined ? [] : renderPlan(plan)
  },

  pieces(view, settings, key) {
    const plan = planOf(view, settings)
    const pieces = plan && routePieces(plan, key, imagine(plan))
    return pieces === undefined ? [] : allPieces(pieces)
  },
}

function planOf(view: NodeView, settings: RenderSettings): KernelspacePlan | undefined {
  const imagined = imaginedSettings(view, settings)
  // An overlay network has one family, that of its source VIP.
  if (imagined.sourceVip !== undefined && familyOf(imagined.sourceVip) !== view.family) return undefined
  return planKernelspace(view, imagined)
}

function onNode(context: ModeContext): ModeOnNode {
  const { host, stateDir, log } = context
  const borrowHcn = lendHcn(() => host.openHcn(), host.clock)
  const unused = settingsWithoutEffect(context.settings().config)
  if (unused.length > 0)
    log.warn('configuration', { warning: `these have no effect in kernelspace mode: ${unused.join(', ')}` })

  let node: Promise<KernelspaceNode> | undefined
  const onThisNode = (signal: AbortSignal) => (node ??= look(signal))
  const look = async (signal: AbortSignal) => {
    await using lent = await opened(borrowHcn())
    return await findKernelspaceNode(lent.hcn, context, signal)
  }
  // One record for both families.
  let owned: Promise<OwnedObjects> | undefined
  const ownedObjects = () => (owned ??= openOwnedObjects({ path: hnsObjectsPath(stateDir, host), log }))

  return {
    name: 'kernelspace',
    traits: kernelspaceTraits,
    ...workings,
    supports: async (family, signal) => (await onThisNode(signal)).families.includes(family),
    prepare: () => Promise.resolve(),

    async createBackend(family, signal) {
      const settings = settingsOf(family, await onThisNode(signal), context)
      const objects = await ownedObjects()
      const lent = await opened(borrowHcn())
      const backend = new KernelspaceBackend({ hcn: lent.hcn, owned: objects, settings, clock: host.clock, log })
      // The last backend that ends closes HNS. What HNS holds stays, and goes on forwarding.
      return { backend: endingWith(backend, lent), afterSync: [] }
    },
  }
}

async function opened(lent: Promise<LentHcn>): Promise<LentHcn> {
  try {
    return await lent
  } catch (error) {
    throw refusalOf(error)
  }
}

function settingsOf(
  family: Family,
  { network, features, nodeIp, overlay }: KernelspaceNode,
  { config, primaryFamily }: ModeContext,
): KernelspaceSettings {
  return {
    ...configured(config),
    family,
    network,
    features,
    // As in kube-proxy, only the primary family has an address of the node.
    nodeIp: family === primaryFamily ? nodeIp : unspecified[family],
    sourceVip: overlay?.sourceVip,
    hostMac: overlay?.hostMac ?? '',
  }
}

function configured(config: StartConfig) {
  const { enableDsr, forwardHealthCheckVip, rootHnsEndpointName } = config.winkernel
  return { enableDsr, forwardHealthCheckVip, rootEndpointName: rootHnsEndpointName, healthzPort: healthzPort(config) }
}

/** Of a node that need not exist, with an HNS that can do everything. */
function imaginedSettings({ family, node }: NodeView, { config, hnsNetworkType }: RenderSettings): KernelspaceSettings {
  const { networkName, sourceVip } = config.winkernel
  const suggested = sourceVip === '' ? 'L2Bridge' : 'Overlay'
  const network = { name: networkName || 'pod-net', type: hnsNetworkType === 'auto' ? suggested : hnsNetworkType }
  const isInOverlay = isOverlayType(network.type)
  if (isInOverlay && sourceVip === '')
    throw new CommandError('an overlay network needs a source VIP: set winkernel.sourceVip in the file of --config')
  return {
    ...configured(config),
    family,
    network,
    features: { dsr: true, sessionAffinity: true, modifyLoadBalancer: true },
    nodeIp: node.ip,
    sourceVip: isInOverlay ? sourceVip : undefined,
    hostMac: '<MAC of this node>',
  }
}

const unspecified: Readonly<Record<Family, string>> = { ipv4: '0.0.0.0', ipv6: '::' }

function healthzPort({ healthzBindAddress }: StartConfig): number | undefined {
  const port = Number(splitHostPort(healthzBindAddress)?.port ?? 0)
  return port === 0 ? undefined : port
}
