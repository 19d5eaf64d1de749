import type { SetDeclaration } from '../../dataplane/nft/nft.ts'
import type { PlannedChain } from './planned-chain.ts'

/** Chains and sets that one Service port has for itself. Most have none. */
export interface OwnChains {
  readonly sets: readonly SetDeclaration[]
  /** Each after those that it leads to. */
  readonly chains: readonly PlannedChain[]
}

export const noOwnChains: OwnChains = { sets: [], chains: [] }
