/** What the configuration says about traffic, as every mode that programs the kernel needs it. */
import type { Family } from '../../net/ip.ts'
import type { LocalTraffic } from './local-traffic.ts'

export interface TrafficSettings {
  readonly family: Family
  readonly localTraffic: LocalTraffic
  readonly masqueradeAll: boolean
  /** The bit as text, e.g. `0x00004000`. */
  readonly masqueradeMark: string
  /** CIDRs; `primary` has been replaced. */
  readonly nodePortAddresses: readonly string[]
  /** Addresses of this machine, as of now. */
  readonly localIps: () => readonly string[]
}
