/**
 * The latest changes of one kind, in a ring. It is the queue of every watch: a watch is only a position in it, so a
 * slow one takes no memory of its own, and one that falls behind the ring has to start again.
 */
import type { Change } from './entry.ts'

/** Counts all changes, including those that are no longer in the ring. */
export type Position = number

export class History {
  readonly #limit: number
  readonly #ring: Change[] = []
  #first: Position = 0
  #end: Position = 0
  #forgottenUpTo: number

  /** Changes up to `revision` are not known. */
  constructor(limit: number, revision: number) {
    this.#limit = limit
    this.#forgottenUpTo = revision
  }

  /** Where the next change will be. */
  get end(): Position {
    return this.#end
  }

  /** A watch or an exact list can start at this revision or later. */
  get oldestRevision(): number {
    return this.#forgottenUpTo
  }

  push(change: Change): void {
    if (this.#end - this.#first === this.#limit) this.#forgetFirst()
    this.#ring[this.#end % this.#limit] = change
    this.#end++
  }

  /** The position of the first change after the revision, unless that is forgotten. */
  seek(revision: number): Position | undefined {
    if (revision < this.#forgottenUpTo) return undefined
    let low = this.#first
    let high = this.#end
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (this.#get(middle).entry.revision <= revision) low = middle + 1
      else high = middle
    }
    return low
  }

  /** For a position before `end`; returns nothing if the change is forgotten. */
  at(position: Position): Change | undefined {
    return position >= this.#first && position < this.#end ? this.#get(position) : undefined
  }

  /** Forgets changes up to the revision, as a compaction of etcd does. */
  compact(revision: number): void {
    while (this.#first < this.#end && this.#get(this.#first).entry.revision <= revision) this.#forgetFirst()
    this.#forgottenUpTo = Math.max(this.#forgottenUpTo, revision)
  }

  #forgetFirst(): void {
    this.#forgottenUpTo = this.#get(this.#first).entry.revision
    this.#first++
  }

  #get(position: Position): Change {
    const change = this.#ring[position % this.#limit]
    if (change === undefined) throw new RangeError(`history has no change at position ${position}`)
    return change
  }
}
