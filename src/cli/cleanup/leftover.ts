/** One object of a proxy in the kernel, as data: what it is, where it is, and how we know whose it is. */
import type { Table } from '../../dataplane/iptables/iptables.ts'
import type { Family } from '../../net/ip.ts'

export type Leftover =
  | IptablesRuleLeftover
  | IptablesChainLeftover
  | NftChainLeftover
  | EmptyTableLeftover
  | NftTableLeftover
  | VirtualServerLeftover
  | RoutingRuleLeftover
  | NamedLeftover

/** A jump from a chain that is not ours. */
export interface IptablesRuleLeftover {
  readonly kind: 'iptables-rule'
  /** The program of its variant and family, e.g. `ip6tables-legacy`. */
  readonly tool: string
  readonly table: Table
  readonly chain: string
  readonly rule: string
  readonly reason: string
}

/** A chain with all its rules. */
export interface IptablesChainLeftover {
  readonly kind: 'iptables-chain'
  readonly tool: string
  readonly table: Table
  readonly chain: string
  readonly ruleCount: number
  /** A rule of others jumps to it, so the chain itself must stay. */
  readonly isEmptiedOnly: boolean
  readonly reason: string
}

/** A chain of the kernel in a table of iptables-nft, in which nothing is left. */
export interface NftChainLeftover {
  readonly kind: 'nft-chain'
  readonly tool: string
  readonly family: NftFamily
  readonly table: Table
  readonly chain: string
  readonly reason: string
}

/** A table of iptables-nft in which nothing is left, once its chains are gone. */
export interface EmptyTableLeftover {
  readonly kind: 'empty-nft-table'
  readonly family: NftFamily
  readonly table: string
  readonly reason: string
}

/** A table of the nftables mode, with all that is in it. */
export interface NftTableLeftover {
  readonly kind: 'nft-table'
  readonly family: NftFamily
  readonly table: string
  readonly reason: string
}

export interface VirtualServerLeftover {
  readonly kind: 'virtual-server'
  readonly protocol: VirtualServerProtocol
  /** `10.96.0.1:443`, `[fd00::1]:443` */
  readonly address: string
  readonly reason: string
}

/** Delivers packets with a mark to this machine; goes with the routing table it leads to. */
interface RoutingRuleLeftover {
  readonly kind: 'routing-rule'
  readonly family: Family
  readonly mark: number
  readonly table: number
  readonly reason: string
}

/** What a name is enough to find. */
export interface NamedLeftover {
  readonly kind: 'interface' | 'ipset' | 'counter'
  readonly name: string
  readonly reason: string
}

export type NftFamily = 'ip' | 'ip6'

export type VirtualServerProtocol = 'tcp' | 'udp' | 'sctp'

export interface Findings {
  /** In the order in which they can be removed. */
  readonly leftovers: readonly Leftover[]
  /** Sentences about what cannot be removed, or not be looked at. */
  readonly problems: readonly string[]
}
