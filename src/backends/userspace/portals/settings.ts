/** What shapes the portals besides the routes. */
import type { NodeFacts } from '../../../core/backend.ts'
import type { LocalTraffic } from '../../../core/node/local-traffic.ts'
import { nodePortAddresses, nodePortIps } from '../../../core/node/node-port-addresses.ts'
import { isLoopback, loopbackIps } from '../../../net/ip.ts'
import type { Family } from '../../../net/ip.ts'

export interface PortalSettings {
  readonly family: Family
  /** How traffic of this node's pods is told apart. */
  readonly localTraffic: LocalTraffic
  /** Nobody's address is kept at cluster IPs. */
  readonly masqueradeAll: boolean
  /** Pods may see the client's address: the engine can dial from it, and its answers find back. */
  readonly keepsClients: boolean
  /** Where proxy ports are: the node's address, or all of them (`0.0.0.0`, `::`). */
  readonly listenIp: string
  /** Where the node itself finds proxy ports. */
  readonly hostIp: string
  /** Where node ports are open; the unspecified address means everywhere. */
  readonly nodePortIps: readonly string[]
}

/** What the configuration says. */
export interface FixedPortalSettings {
  readonly family: Family
  readonly localTraffic: LocalTraffic
  readonly masqueradeAll: boolean
  /** CIDRs; `primary` has been replaced. */
  readonly nodePortAddresses: readonly string[]
  /** Addresses of this machine, as of now. */
  readonly localIps: () => readonly string[]
}

const everywhere: Readonly<Record<Family, string>> = { ipv4: '0.0.0.0', ipv6: '::' }

/** On a node whose kernel and whose engine can do all that the mode knows. */
export function portalSettings(fixed: FixedPortalSettings, node: NodeFacts): PortalSettings {
  const { family, localTraffic, masqueradeAll } = fixed
  const localIps = fixed.localIps()
  const addresses = nodePortAddresses(fixed.nodePortAddresses, family)
  const hasOwnAddress = !isLoopback(node.ip) && localIps.includes(node.ip)
  return {
    family,
    localTraffic,
    masqueradeAll,
    keepsClients: true,
    // REDIRECT leads to the address of the device a packet came in by, and drops the packet when that has none; the
    // devices of routed pods have none. So all is led to the node's own address, if it has one.
    listenIp: hasOwnAddress ? node.ip : everywhere[family],
    hostIp: hasOwnAddress ? node.ip : loopbackIps[family],
    nodePortIps: nodePortIps(addresses, localIps, canBeBound) ?? [everywhere[family]],
  }
}

/** An address of one link only cannot be bound without naming the link, and no client outside can use it. */
function canBeBound(ip: string): boolean {
  return !/^fe[89ab]/.test(ip)
}
