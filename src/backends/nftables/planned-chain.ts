import type { Chain } from '../../dataplane/nft/nft.ts'
import type { Rule } from '../../dataplane/nft/rule.ts'

/** A chain with all its rules. */
export interface PlannedChain extends Chain {
  readonly rules: readonly Rule[]
}
