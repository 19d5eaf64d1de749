/** When the state became what it is, for the last so many revisions: how long somebody who has an older one is behind. */

/** With ten changes a second, the last minutes. Whoever is behind for longer is so by this much at least. */
const mostRevisions = 4096

export class RevisionTimes {
  readonly #revisions: number[] = []
  readonly #timesMs: number[] = []
  /** Where the oldest is, once all places are taken. */
  #start = 0

  /** In ascending order. */
  note(revision: number, atMs: number): void {
    if (this.#revisions.length < mostRevisions) {
      this.#revisions.push(revision)
      this.#timesMs.push(atMs)
      return
    }
    this.#revisions[this.#start] = revision
    this.#timesMs[this.#start] = atMs
    this.#start = (this.#start + 1) % mostRevisions
  }

  /** When the first revision after this one came; undefined: it is the newest. */
  firstAfterMs(revision: number): number | undefined {
    let [low, high] = [0, this.#revisions.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#revisions[this.#place(middle)] ?? Infinity) > revision) high = middle
      else low = middle + 1
    }
    return low === this.#revisions.length ? undefined : this.#timesMs[this.#place(low)]
  }

  #place(index: number): number {
    return (this.#start + index) % mostRevisions
  }
}
