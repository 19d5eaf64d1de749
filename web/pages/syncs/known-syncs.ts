/** The syncs that are known, newest first, without those that are too many. */
import type { SyncInShort, SyncsChange } from '../../../src/observe/console/wire.ts'

const most = 500

export function withChange(known: readonly SyncInShort[], { isFirst, syncs }: SyncsChange): readonly SyncInShort[] {
  const before = isFirst === true ? [] : known
  return [...[...syncs].reverse(), ...before].slice(0, most)
}

export type Order = 'newest' | 'slowest'

export function shownSyncs(
  known: readonly SyncInShort[],
  { family, order }: { readonly family: string; readonly order: Order },
): readonly SyncInShort[] {
  const chosen = known.filter((sync) => family === '' || sync.family === family)
  return order === 'slowest' ? chosen.sort((a, b) => b.durationMs - a.durationMs) : chosen
}
