/**
 * The order in which a change reaches the kernel. What has rules in it goes through the nft command, which costs
 * milliseconds and reads every element as text; the rest is written directly. So a change is split where that is safe:
 * nothing that carries traffic may lead to what is not there yet, or stay without what it needs.
 */
import type { NftOperation, NftTransaction } from '../../dataplane/nft/nft.ts'

export interface TableChange {
  /** Sets, and chains that are the same whatever the Services are. */
  readonly structure: NftTransaction
  /** The rules that look up endpoints. Nothing leads to new ones, and those that exist stay as they are. */
  readonly lookups: NftTransaction
  /** Chains of single Services: from here on it happens at one moment. */
  readonly own: NftTransaction
  /** Elements, and what goes with those that leave. */
  readonly elements: NftTransaction
}

/** What the table holds before the change. */
export type TableBefore =
  /** Nothing: it carries no traffic yet. */
  | 'nothing'
  /** Rules that say what they will say, whatever the Services are. */
  | 'same rules'
  /** Rules of other settings, as far as we know. New rules over old elements may refuse whom both before and after serve. */
  | 'other rules'

/** To be committed one after the other. */
export function transactionsOf(change: TableChange, before: TableBefore): readonly NftTransaction[] {
  return split(change, before).filter(({ length }) => length > 0)
}

function split({ structure, lookups, own, elements }: TableChange, before: TableBefore): readonly NftTransaction[] {
  // nft refuses lookups in a script where their map is there already, so they are written before, to chains that are there.
  if (before === 'other rules') return [structure.filter(isDeclaration), lookups, [...structure, ...own, ...elements]]
  if (own.length > 0) return [structure, lookups, ...(before === 'nothing' ? [own, elements] : [[...own, ...elements]])]
  return needsNft(structure) ? [structure, [...lookups, ...elements]] : [[...structure, ...lookups, ...elements]]
}

export function chainsAddedBy({ structure, own }: TableChange): readonly string[] {
  return [...structure, ...own].flatMap((operation) => (operation.do === 'add chain' ? [operation.chain.name] : []))
}

/** Without rules it leads nowhere, and what exists stays as it is. */
function isDeclaration({ do: what }: NftOperation): boolean {
  return what === 'add table' || what === 'add set' || what === 'add chain'
}

function needsNft(transaction: NftTransaction): boolean {
  return transaction.some((operation) => operation.do !== 'add chain')
}
