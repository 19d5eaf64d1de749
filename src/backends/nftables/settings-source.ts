/** Where the settings come from: the configuration, and the node's addresses of the moment. */
import { matchingAddresses, nodePortAddresses } from '../../core/node/node-port-addresses.ts'
import type { TrafficSettings } from '../../core/node/traffic-settings.ts'
import { isLoopback } from '../../net/ip.ts'
import type { NftablesState } from './settings.ts'

export function currentState({ nodePortAddresses: cidrs, localIps, ...fixed }: TrafficSettings): NftablesState {
  const addresses = nodePortAddresses(cidrs, fixed.family)
  const limitsNodePorts = !addresses.matchesAll
  return {
    settings: { ...fixed, limitsNodePorts },
    // Packets to loopback that leave through another interface are not routed back.
    nodePortIps: limitsNodePorts
      ? matchingAddresses(addresses, localIps())
          .filter((ip) => !isLoopback(ip))
          .toSorted()
      : [],
  }
}
