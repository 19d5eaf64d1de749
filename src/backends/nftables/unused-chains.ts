/**
 * Deletes chains that nothing leads to any more, in a transaction of their own after the one that made them useless:
 * kernels before 6.2 hold on to a chain for a moment after the last element that led to it is gone.
 */
import { NftError } from '../../dataplane/nft/nft.ts'
import type { NftTable } from '../../dataplane/nft/nft.ts'

/** Answers with those that cannot go now: an empty chain harms nobody, so they wait for the next sync. */
export async function deleteUnusedChains(
  table: NftTable,
  names: readonly string[],
  onFailure: () => void,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (names.length === 0 || (await deleteChains(table, names, signal))) return []
  onFailure()
  if (names.length === 1) return names
  for (let left = names; ;) {
    const still: string[] = []
    for (const name of left) if (!(await deleteChains(table, [name], signal))) still.push(name)
    // A chain that another led to can go now, if that one has gone.
    if (still.length === 0 || still.length === left.length) return still
    left = still
  }
}

async function deleteChains(table: NftTable, names: readonly string[], signal: AbortSignal): Promise<boolean> {
  try {
    // Some lead to others.
    const operations = (['flush chain', 'delete chain'] as const).map((what) =>
      names.map((name) => ({ do: what, name })),
    )
    await table.commit(operations.flat(), signal)
    return true
  } catch (error) {
    signal.throwIfAborted()
    // Somebody else was faster.
    return error instanceof NftError && error.reason === 'missing' && names.length === 1
  }
}
