/** Writes chains and sets into a transaction. */
import type { NftOperation } from '../../dataplane/nft/nft.ts'
import type { Family } from '../../net/ip.ts'
import type { PlannedChain } from './planned-chain.ts'
import { renderRule } from './render-rule.ts'
import type { StickyChains } from './sticky-chains.ts'

/** Whatever the chain held before, it has these rules then. Chains must come after those that they lead to. */
export function writeChain({ rules, ...chain }: PlannedChain, family: Family): readonly NftOperation[] {
  return [
    { do: 'add chain', chain },
    { do: 'flush chain', name: chain.name },
    ...rules.map((rule): NftOperation => ({ do: 'add rule', chain: chain.name, rule: renderRule(rule, family) })),
  ]
}

export function writeSticky({ sets, chains }: StickyChains, family: Family): readonly NftOperation[] {
  return [
    ...sets.map((set): NftOperation => ({ do: 'add set', set })),
    ...chains.flatMap((chain) => writeChain(chain, family)),
  ]
}
