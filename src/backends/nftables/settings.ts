/** What shapes the ruleset besides the routes. */
import type { LocalTraffic } from '../../core/node/local-traffic.ts'
import { nodePortAddresses, nodePortIps } from '../../core/node/node-port-addresses.ts'
import type { TrafficSettings } from '../../core/node/traffic-settings.ts'
import { disjointCidrs } from '../../net/disjoint-cidrs.ts'
import { parseCidr, renderCidr } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'

export interface NftablesSettings {
  readonly family: Family
  readonly localTraffic: LocalTraffic
  readonly masqueradeAll: boolean
  /** The bit as text, e.g. `0x00004000`. */
  readonly masqueradeMark: string
  /** Node ports are open on the addresses in `node-ips` only, not on all of this node. */
  readonly limitsNodePorts: boolean
  /**
   * CIDRs. Packets between two addresses of one of these are not tracked, unless they are sent to a Service or to this node. Whatever
   * this table translates there hides its client behind the node, because the answer of an untracked endpoint could not be translated
   * back.
   */
  readonly untrackedRanges?: readonly string[]
  /** Counters of endpoints cost memory on every processor, so only small clusters have them. */
  readonly countsEndpoints?: boolean
}

/** The settings, and the addresses of the moment. */
export interface NftablesState {
  readonly settings: NftablesSettings
  /** Addresses that node ports are open on, when they are limited. */
  readonly nodePortIps: readonly string[]
}

export interface NftablesTraffic extends TrafficSettings {
  /** CIDRs of both families. */
  readonly untrackedPods?: readonly string[]
}

export function currentState(traffic: NftablesTraffic): NftablesState {
  const { nodePortAddresses: cidrs, localIps, untrackedPods = [], ...fixed } = traffic
  const addresses = nodePortAddresses(cidrs, fixed.family)
  const untrackedRanges = disjointCidrs(rangesOf(fixed.family, untrackedPods))
  // Each sync asks, and listing the addresses of a node with hundreds of pods takes a while.
  const ips = addresses.matchesAll ? undefined : nodePortIps(addresses, localIps())
  return {
    settings: {
      ...fixed,
      limitsNodePorts: ips !== undefined,
      ...(untrackedRanges.length > 0 && { untrackedRanges }),
    },
    nodePortIps: ips ?? [],
  }
}

/** Without the bits that do not count. */
function rangesOf(family: Family, cidrs: readonly string[]): readonly string[] {
  return cidrs.flatMap((text) => {
    const cidr = parseCidr(text)
    return cidr?.family === family ? [renderCidr(cidr)] : []
  })
}
