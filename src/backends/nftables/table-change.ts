/**
 * The order in which a change reaches the kernel. What has rules in it goes through the nft command, which costs
 * milliseconds and reads every element as text; the rest is written directly. So a change is split where that is safe:
 * nothing that carries traffic may lead to what is not there yet, or stay without what it needs.
 */
import type { NftTransaction } from '../../dataplane/nft/nft.ts'

export interface TableChange {
  /** Sets, and chains that are the same whatever the Services are. */
  readonly structure: NftTransaction
  /** The rules that look up endpoints. Nothing leads to new ones, and those that exist stay as they are. */
  readonly lookups: NftTransaction
  /** Chains of single Services: from here on it happens at one moment. */
  readonly sticky: NftTransaction
  /** Elements, and what goes with those that leave. */
  readonly elements: NftTransaction
}

/** To be committed one after the other. `isFresh`: the table carries no traffic yet. */
export function transactionsOf(
  { structure, lookups, sticky, elements }: TableChange,
  { isFresh }: { readonly isFresh: boolean },
): readonly NftTransaction[] {
  const transactions =
    sticky.length === 0
      ? needsNft(structure)
        ? [structure, [...lookups, ...elements]]
        : [[...structure, ...lookups, ...elements]]
      : [structure, lookups, ...(isFresh ? [sticky, elements] : [[...sticky, ...elements]])]
  return transactions.filter(({ length }) => length > 0)
}

export function chainsAddedBy({ structure, sticky }: TableChange): readonly string[] {
  return [...structure, ...sticky].flatMap((operation) => (operation.do === 'add chain' ? [operation.chain.name] : []))
}

function needsNft(transaction: NftTransaction): boolean {
  return transaction.some((operation) => operation.do !== 'add chain')
}
