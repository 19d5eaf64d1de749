/** What shapes the rules besides the routes: configuration, and what the kernel and the tools can do. */
import type { LocalTraffic } from '../../core/node/local-traffic.ts'
import type { Counters } from '../../dataplane/iptables/language/counters.ts'
import type { Family } from '../../net/ip.ts'

export interface IptablesSettings {
  readonly family: Family
  readonly localTraffic: LocalTraffic
  readonly masqueradeAll: boolean
  /** The bit as text, e.g. `0x00004000`. */
  readonly masqueradeMark: string
  /** IPv4 only: node ports answer on 127.0.0.0/8 too. */
  readonly hasLocalhostNodePorts: boolean
  /** Local addresses that node ports are open on; undefined means all. */
  readonly nodePortIps: readonly string[] | undefined
  /** MASQUERADE understands --random-fully. */
  readonly hasRandomFully: boolean
  /** Packets in state INVALID are dropped, unless the kernel was told to be liberal about them. */
  readonly dropsInvalid: boolean
  /** Kernel counters (nfacct) that exist, so that rules may name them. */
  readonly counters: Counters
}

/** Above this many endpoints in all, rules of endpoints carry no comment: it would be most of the text. */
export const largeClusterEndpoints = 1000
