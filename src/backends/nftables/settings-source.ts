/** Where the settings come from: the configuration, and the node's addresses of the moment. */
import type { LocalTraffic } from '../../core/local-traffic.ts'
import { matchingAddresses, nodePortAddresses } from '../../core/node-port-addresses.ts'
import type { Family } from '../../net/ip.ts'
import { isLoopback } from '../../net/ip.ts'
import type { NftablesState } from './settings.ts'

/** What the configuration says. */
export interface FixedSettings {
  readonly family: Family
  readonly localTraffic: LocalTraffic
  readonly masqueradeAll: boolean
  readonly masqueradeMark: string
  /** CIDRs; `primary` has been replaced. */
  readonly nodePortAddresses: readonly string[]
  /** Addresses of this machine, as of now. */
  readonly localIps: () => readonly string[]
}

export function currentState({ nodePortAddresses: cidrs, localIps, ...fixed }: FixedSettings): NftablesState {
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
