/** What shapes the tables besides the routes. */
import { matchingAddresses, nodePortAddresses } from '../../core/node/node-port-addresses.ts'
import type { Family } from '../../net/ip.ts'
import { families, familyOf, isLoopback } from '../../net/ip.ts'
import { configFlags, mapSpecs } from './layout.ts'

/** The addresses of the moment, of one family. */
export interface NodeState {
  /** Of this node's interfaces. */
  readonly ownIps: ReadonlySet<string>
  /** Those of them that node ports are open on. Loopback addresses are a setting. */
  readonly nodePortIps: ReadonlySet<string>
}

interface NodeAddressSettings {
  readonly family: Family
  /** CIDRs; `primary` has been replaced. */
  readonly nodePortAddresses: readonly string[]
  readonly localIps: () => readonly string[]
}

export function currentNode({ family, nodePortAddresses: cidrs, localIps }: NodeAddressSettings): NodeState {
  const ips = localIps().filter((ip) => familyOf(ip) === family)
  const open = matchingAddresses(nodePortAddresses(cidrs, family), ips)
  const reachable = open.filter((ip) => !isLoopback(ip)).slice(0, mostNodePortIps)
  return { ownIps: new Set(ips), nodePortIps: new Set(reachable) }
}

/**
 * Both families fit into the map. A node that comes from IPVS has thousands of addresses, one for each Service, after its own;
 * node ports there are left to the packets.
 */
const mostNodePortIps = mapSpecs.node_addresses.maxEntries / families.length

/** Works it out anew only when something has changed. Until then it is the same object. */
export function rememberNode(): (settings: NodeAddressSettings) => NodeState {
  let last:
    { readonly from: NodeAddressSettings; readonly ips: readonly string[]; readonly node: NodeState } | undefined
  return (from) => {
    const ips = from.localIps()
    const isSame =
      last !== undefined &&
      last.ips === ips &&
      last.from.family === from.family &&
      last.from.nodePortAddresses === from.nodePortAddresses
    if (!isSame) last = { from, ips, node: currentNode({ ...from, localIps: () => ips }) }
    return last!.node
  }
}

/** For all sockets, of both families. */
export interface SocketSettings {
  /** Cookie of the host's network namespace. */
  readonly hostNetns: bigint
  /** `host`: sockets of pods are left to the packets. */
  readonly scope: 'all' | 'host'
  readonly tcp: boolean
  readonly udpSend: boolean
  /** `host`: those of pods are left to the packets, because nobody could tell them that their endpoint has ended. */
  readonly udpConnect: 'all' | 'host' | 'none'
  readonly loopbackNodePorts: boolean
  readonly peerNames: boolean
  /** Sockets of pods can be found, to be told that their endpoint has ended. */
  readonly entersPods: boolean
  /** Connections to endpoints that have ended are ended, too. */
  readonly endsTcp: boolean
  /** Programs leave everything to the packets when nobody has renewed this for so long. 0: never. */
  readonly leaseMs: number
  /** A datagram flow that was silent for so long gets an endpoint anew. */
  readonly udpIdleMs: number
}

export function flagsOf(settings: SocketSettings): number {
  const flags: readonly (readonly [boolean, number])[] = [
    [settings.scope === 'host', configFlags.hostOnly],
    [settings.tcp, configFlags.tcp],
    [settings.udpSend, configFlags.udpSend],
    [settings.udpConnect !== 'none', configFlags.udpConnect],
    [settings.udpConnect === 'host', configFlags.udpConnectHostOnly],
    [settings.loopbackNodePorts, configFlags.loopbackNodePorts],
    [!settings.peerNames, configFlags.noPeerNames],
    [settings.endsTcp, configFlags.reportStaleTcp],
  ]
  return flags.reduce((bits, [isSet, bit]) => (isSet ? bits | bit : bits), 0)
}
