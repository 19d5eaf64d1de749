/** What shapes the plan besides the routes: the configuration, the tools, and the addresses of the node. */
import type { LocalTraffic } from '../../core/local-traffic.ts'
import type { Family } from '../../net/ip.ts'

/** What the configuration says. */
export interface FixedSettings {
  readonly family: Family
  /** The kernel's name of it, e.g. `rr`. */
  readonly scheduler: string
  readonly localTraffic: LocalTraffic
  readonly masqueradeAll: boolean
  /** The bit as text, e.g. `0x00004000`. */
  readonly masqueradeMark: string
  /** Where node ports are open, as CIDRs; `primary` has been replaced. */
  readonly nodePortAddresses: readonly string[]
  /** Virtual servers on these addresses are never deleted. */
  readonly excludeCidrs: readonly string[]
}

export interface IpvsSettings extends Omit<FixedSettings, 'nodePortAddresses' | 'excludeCidrs'> {
  /** MASQUERADE understands --random-fully. */
  readonly hasRandomFully: boolean
  /** What links other than ours hold: such an address is local already, and stays off our link. */
  readonly nodeIps: ReadonlySet<string>
  /** Where node ports are open, in order. */
  readonly nodePortIps: readonly string[]
}
