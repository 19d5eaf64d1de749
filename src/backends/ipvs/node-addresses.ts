/** Which addresses of this machine are the node's own, and on which of them node ports are open. */
import { nodePortAddresses, nodePortIps } from '../../core/node/node-port-addresses.ts'
import type { Family } from '../../net/ip.ts'
import { familyOf, isLoopback } from '../../net/ip.ts'
import type { IpvsSettings } from './settings.ts'

/** Links without an address of Services; what they hold is given as it is. */
export function nodeAddresses(
  ips: readonly string[],
  family: Family,
  nodePortCidrs: readonly string[],
): Pick<IpvsSettings, 'nodeIps' | 'nodePortIps'> {
  const nodeIps = new Set(ips.filter((ip) => isServable(ip, family)))
  const chosen = nodePortIps(nodePortAddresses(nodePortCidrs, family), ips)
  // A virtual server needs an address, so "all of them" are those that the node has now.
  return { nodeIps, nodePortIps: chosen ?? [...nodeIps].sort() }
}

/**
 * IPVS does not serve loopback addresses, and every link has a link-local IPv6 address of its own that no Service uses;
 * ours gets one when somebody sets it up.
 */
export function isServable(ip: string, family: Family): boolean {
  return familyOf(ip) === family && !isLoopback(ip) && !/^fe[89ab][0-9a-f]:/.test(ip)
}
