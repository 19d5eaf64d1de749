/** Things by the time at which they are due, the next one first: adding and taking cost the logarithm of how many there are. */
export interface Due<K> {
  readonly thing: K
  readonly dueAt: number
}

export class DueHeap<K> {
  /** No entry is due before the one at half its index. */
  #entries: Due<K>[] = []

  get size(): number {
    return this.#entries.length
  }

  get next(): Due<K> | undefined {
    return this.#entries[0]
  }

  add(entry: Due<K>): void {
    const entries = this.#entries
    let index = entries.length
    while (index > 0) {
      const above = (index - 1) >> 1
      if (entries[above]!.dueAt <= entry.dueAt) break
      entries[index] = entries[above]!
      index = above
    }
    entries[index] = entry
  }

  /** Takes the next one out. */
  take(): Due<K> | undefined {
    const [first] = this.#entries
    const last = this.#entries.pop()
    if (last !== undefined && this.#entries.length > 0) this.#sink(last)
    return first
  }

  keep(wanted: (entry: Due<K>) => boolean): void {
    const kept = this.#entries.filter(wanted)
    this.#entries = []
    for (const entry of kept) this.add(entry)
  }

  /** Puts it at the top, and then below all that are due before it. */
  #sink(entry: Due<K>): void {
    const entries = this.#entries
    let index = 0
    for (;;) {
      let below = 2 * index + 1
      if (below >= entries.length) break
      if (below + 1 < entries.length && entries[below + 1]!.dueAt < entries[below]!.dueAt) below++
      if (entries[below]!.dueAt >= entry.dueAt) break
      entries[index] = entries[below]!
      index = below
    }
    entries[index] = entry
  }
}
