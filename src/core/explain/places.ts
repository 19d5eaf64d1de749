/** Whose an address is, besides those of Services. */
import type { Protocol, SliceEndpoint } from '../../api/records.ts'
import { objectKey } from '../../api/records.ts'
import type { ObjectKey } from '../../api/records.ts'
import { cidrContains, isLoopback, loopbackIps } from '../../net/ip.ts'
import type { Catalog } from '../catalog.ts'
import { nodePortAddresses } from '../node/node-port-addresses.ts'
import type { ModeTraits } from './mode-traits.ts'
import type { Scene } from './world.ts'

/** Loopback included. */
export function isNodeAddress(ip: string, { table, traffic }: Scene): boolean {
  return isLoopback(ip) || table.nodeIPs.includes(ip) || traffic.localIps().includes(ip)
}

export interface KnownPod extends Pick<SliceEndpoint, 'ip' | 'nodeName'> {
  /** Services that have it as an endpoint. */
  readonly services: readonly ObjectKey[]
}

/** A pod that some Service has as an endpoint. Looks at all of them: for a question, not for a sync. */
export function podAt(ip: string, catalog: Catalog): KnownPod | undefined {
  const services = new Set<ObjectKey>()
  let found: SliceEndpoint | undefined
  for (const { namespace, serviceName, endpoints } of catalog.slices.values()) {
    const endpoint = endpoints.find((it) => it.ip === ip)
    if (endpoint === undefined) continue
    if (found === undefined || found.nodeName === '') found = endpoint
    services.add(objectKey({ namespace, name: serviceName }))
  }
  return found && { ip, nodeName: found.nodeName, services: [...services].sort() }
}

/** The listeners that have the node ports of this address, where the mode itself does not. */
export function localhostListeners(ip: string, protocol: Protocol, scene: Scene): ModeTraits | undefined {
  const { localhostListeners: listeners } = scene.traits
  const isTheirs = ip === loopbackIps[scene.family] && listeners?.unsupported.includes(protocol) === false
  return isTheirs && !isOpenForNodePorts(ip, scene) ? listeners : undefined
}

export interface NodePortScene extends Pick<Scene, 'family' | 'traits'> {
  readonly traffic: Pick<Scene['traffic'], 'nodePortAddresses'>
}

/** Whether node ports of the mode itself are open on an address of this node. */
export function isOpenForNodePorts(ip: string, { family, traffic, traits }: NodePortScene): boolean {
  if (isLoopback(ip) && !traits.nodePortsOnLoopback.includes(family)) return false
  // A socket that asks for loopback is asked for its namespace, not for addresses.
  if (isLoopback(ip) && traits.sockets !== undefined) return true
  if (traits.nodePorts === 'everywhere') return true
  const { matchesAll, cidrs } = nodePortAddresses(traffic.nodePortAddresses, family)
  return matchesAll || cidrs.some((cidr) => cidrContains(cidr, ip))
}
