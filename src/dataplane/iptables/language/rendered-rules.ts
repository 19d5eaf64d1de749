/** The rules of one route: in chains of its own, and among those of others in chains that all share. */
import type { Table } from './kube-chains.ts'
import type { Rule } from './rule.ts'
import type { RenderedChain } from './rendered-chain.ts'

export interface SharedRule {
  readonly table: Table
  readonly chain: string
  readonly rule: Rule
}

export interface RenderedRoute {
  /** In chains that all Services share, in order. */
  readonly shared: readonly SharedLine[]
  /** Its own chains in the nat table. */
  readonly chains: readonly RenderedChain[]
}

export interface SharedLine {
  readonly table: Table
  readonly chain: string
  /** The rule without `-A CHAIN`. */
  readonly rule: string
}
