/** What shapes the ruleset besides the routes. */
import type { LocalTraffic } from '../../core/node/local-traffic.ts'
import { nodePortAddresses, nodePortIps } from '../../core/node/node-port-addresses.ts'
import type { TrafficSettings } from '../../core/node/traffic-settings.ts'
import type { Family } from '../../net/ip.ts'

export interface NftablesSettings {
  readonly family: Family
  readonly localTraffic: LocalTraffic
  readonly masqueradeAll: boolean
  /** The bit as text, e.g. `0x00004000`. */
  readonly masqueradeMark: string
  /** Node ports are open on the addresses in `node-ips` only, not on all of this node. */
  readonly limitsNodePorts: boolean
  /** Counters of endpoints cost memory on every processor, so only small clusters have them. */
  readonly countsEndpoints?: boolean
}

/** The settings, and the addresses of the moment. */
export interface NftablesState {
  readonly settings: NftablesSettings
  /** Addresses that node ports are open on, when they are limited. */
  readonly nodePortIps: readonly string[]
}

export function currentState({ nodePortAddresses: cidrs, localIps, ...fixed }: TrafficSettings): NftablesState {
  const addresses = nodePortAddresses(cidrs, fixed.family)
  // Each sync asks, and listing the addresses of a node with hundreds of pods takes a while.
  const ips = addresses.matchesAll ? undefined : nodePortIps(addresses, localIps())
  return { settings: { ...fixed, limitsNodePorts: ips !== undefined }, nodePortIps: ips ?? [] }
}
