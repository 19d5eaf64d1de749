/** How the mode can work on this node: what HNS can do, the network of the cluster, and the node's place in it. */
import type { ProxyConfig } from '../../../config/proxy-config.ts'
import type { HnsFeatures } from '../../../dataplane/hcn/features.ts'
import type { Hcn, HcnNetwork } from '../../../dataplane/hcn/hcn.ts'
import { parseIp } from '../../../net/ip.ts'
import type { Family } from '../../../net/ip.ts'
import type { Host } from '../../host/host.ts'
import type { ModeContext } from '../mode.ts'
import { cannotRun, checkHns } from './check-hns.ts'
import { findNetwork, isOverlayType, networkNameOf } from './find-network.ts'
import { hostAddress, hostMac } from './host-address.ts'

export interface KernelspaceNode {
  readonly features: HnsFeatures
  readonly network: HcnNetwork
  readonly families: readonly Family[]
  /** Of the primary family. */
  readonly nodeIp: string
  /** Only in an overlay network. */
  readonly overlay: Overlay | undefined
}

interface Overlay {
  readonly sourceVip: string
  readonly hostMac: string
}

export interface NodeContext extends Pick<ModeContext, 'nodeIps' | 'primaryFamily' | 'log'> {
  readonly config: Pick<ProxyConfig, 'winkernel'>
  readonly host: Pick<Host, 'env' | 'clock' | 'networkInterfaces'>
}

/** Waits for the network. Changes nothing. Throws, with the way out, where the mode cannot work. */
export async function findKernelspaceNode(
  hcn: Hcn,
  context: NodeContext,
  signal: AbortSignal,
): Promise<KernelspaceNode> {
  const { config, host, nodeIps, primaryFamily, log } = context
  const { winkernel } = config
  const name = networkNameOf(winkernel.networkName, host.env)
  const { version, features } = await checkHns(hcn, winkernel, signal)
  const network = await findNetwork({ hcn, name, clock: host.clock, log }, signal)
  const { type } = network
  log.info('using the HNS network', {
    network: name,
    type,
    hnsVersion: `${version.major}.${version.minor}`,
    ...features,
  })
  const place = isOverlayType(type)
    ? overlayPlace(context, features)
    : { nodeIp: nodeIps[primaryFamily], overlay: undefined }
  if (place.overlay === undefined && winkernel.sourceVip !== '')
    log.warn('configuration', {
      warning: `winkernel.sourceVip has no effect: network ${name} is ${type}, not an overlay`,
    })
  return { features, network, ...place, families: familiesOn(network, features, context) }
}

function overlayPlace({ config, host, nodeIps, primaryFamily }: NodeContext, { remoteSubnet }: HnsFeatures) {
  if (!remoteSubnet) throw cannotRun('HNS lacks remote subnets, which overlay networks need: update Windows')
  const sourceVip = sourceVipOf(config)
  const interfaces = host.networkInterfaces()
  const nodeIp = hostAddress(nodeIps[primaryFamily], interfaces)
  return { nodeIp, overlay: { sourceVip, hostMac: hostMac(nodeIp, interfaces) } }
}

function sourceVipOf({ winkernel: { sourceVip } }: Pick<ProxyConfig, 'winkernel'>): string {
  if (sourceVip === '')
    throw cannotRun(
      'source-vip flag not set: an overlay network needs an address of this node that no pod has, ' +
        'which the network plugin reserves; give it with --source-vip (winkernel.sourceVip)',
    )
  const ip = parseIp(sourceVip)
  if (ip !== undefined) return ip
  throw cannotRun(`--source-vip (winkernel.sourceVip) is "${sourceVip}", which is not an IP address`)
}

/** One that has an address of its own on this node; the other one follows where HNS can do both. */
function familiesOn(
  { name, type }: HcnNetwork,
  { ipv6DualStack }: HnsFeatures,
  { primaryFamily, log }: NodeContext,
): readonly Family[] {
  if (ipv6DualStack && !isOverlayType(type)) return ['ipv4', 'ipv6']
  const reason = ipv6DualStack ? `network ${name} is an overlay` : 'HNS has it from version 11.10 on'
  log.info('no dual stack', { primaryFamily, reason })
  return [primaryFamily]
}
