import type { Chain } from '../../dataplane/nft/nft.ts'
import type { Rule } from './rule.ts'

/** A chain with all its rules. */
export interface PlannedChain extends Chain {
  readonly rules: readonly Rule[]
}
