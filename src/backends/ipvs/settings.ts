/** What shapes the plan besides the routes: the configuration, the tools, and the addresses of the node. */
import type { TrafficSettings } from '../../core/node/traffic-settings.ts'

/** What the configuration says. */
export interface FixedSettings extends Omit<TrafficSettings, 'localIps'> {
  /** The kernel's name of it, e.g. `rr`. */
  readonly scheduler: string
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
