/**
 * Chains that nothing leads to any more. They go in a transaction of their own after the one that made them useless:
 * kernels before 6.2 hold on to a chain for a moment after the last element that led to it is gone.
 */
import { NftError } from '../../dataplane/nft/nft.ts'
import type { NftTable } from '../../dataplane/nft/nft.ts'

export class UnusedChains {
  readonly #table: NftTable
  readonly #onFailure: () => void
  readonly #names = new Set<string>()

  constructor(table: NftTable, onFailure: () => void) {
    this.#table = table
    this.#onFailure = onFailure
  }

  add(names: Iterable<string>): void {
    for (const name of names) this.#names.add(name)
  }

  /** These are in use again. */
  keep(names: Iterable<string>): void {
    for (const name of names) this.#names.delete(name)
  }

  /** What cannot go now goes after the next sync: an empty chain harms nobody, so this never fails a sync. */
  async remove(signal: AbortSignal): Promise<void> {
    const names = [...this.#names]
    if (names.length === 0 || (await this.#delete(names, signal))) return
    this.#onFailure()
    if (names.length > 1) for (const name of names) await this.#delete([name], signal)
  }

  async #delete(names: readonly string[], signal: AbortSignal): Promise<boolean> {
    try {
      // Some lead to others.
      const operations = (['flush chain', 'delete chain'] as const).map((what) =>
        names.map((name) => ({ do: what, name })),
      )
      await this.#table.commit(operations.flat(), signal)
    } catch (error) {
      signal.throwIfAborted()
      // Somebody else was faster.
      const isGone = error instanceof NftError && error.reason === 'missing' && names.length === 1
      if (!isGone) return false
    }
    this.keep(names)
    return true
  }
}
