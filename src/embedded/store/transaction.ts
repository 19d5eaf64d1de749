/**
 * Writes that are decided but not yet durable. A write sees the earlier ones of the same batch; readers do not. If one
 * write or the whole batch fails, its changes are undone.
 */
import type { ApiObject } from '../resource.ts'
import { afterChange, entryKey, entryOf } from './entry.ts'
import type { Change, Entry } from './entry.ts'

export interface KindChange {
  readonly kind: string
  readonly change: Change
}

/**
 * Called for every write as it is decided, and as it is undone: for what must be unique even before it is committed.
 */
export type WriteObserver = (kind: string, before: Entry | undefined, after: Entry | undefined) => void

export interface Transaction {
  get(kind: string, namespace: string | undefined, name: string): Entry | undefined
  inNamespace(kind: string, namespace: string): readonly Entry[]
  readonly kinds: Iterable<string>
  /** Creates or replaces the object under its namespace and name. */
  put(kind: string, object: ApiObject): Entry
  /** Returns the last state. */
  remove(kind: string, entry: Entry): Entry
  /** Undoes the write but returns its result: dryRun. */
  discard(): void
}

export interface CommittedState {
  readonly revision: number
  readonly kinds: Iterable<string>
  get(kind: string, key: string): Entry | undefined
  list(kind: string, namespace?: string): readonly Entry[]
}

export class Batch implements Transaction {
  readonly #committed: CommittedState
  readonly #observer: WriteObserver
  readonly #changes: KindChange[] = []
  readonly #undecided = new Map<string, Map<string, Entry | undefined>>()
  #isDiscarded = false

  constructor(committed: CommittedState, observer: WriteObserver) {
    this.#committed = committed
    this.#observer = observer
  }

  get changes(): readonly KindChange[] {
    return this.#changes
  }

  get kinds(): Iterable<string> {
    return this.#committed.kinds
  }

  /** Runs one write. If it throws or calls `discard`, its changes are undone and those of others stay. */
  run<T>(write: (transaction: Transaction) => T): T {
    const before = this.#changes.length
    this.#isDiscarded = false
    try {
      const result = write(this)
      if (this.#isDiscarded) this.#undoTo(before)
      return result
    } catch (error) {
      this.#undoTo(before)
      throw error
    }
  }

  undoAll(): void {
    this.#undoTo(0)
  }

  get(kind: string, namespace: string | undefined, name: string): Entry | undefined {
    const key = entryKey(namespace, name)
    const undecided = this.#undecided.get(kind)
    return undecided?.has(key) === true ? undecided.get(key) : this.#committed.get(kind, key)
  }

  inNamespace(kind: string, namespace: string): readonly Entry[] {
    const undecided = this.#undecided.get(kind)
    const committed = this.#committed.list(kind, namespace)
    if (undecided === undefined) return committed
    const others = [...undecided.values()].filter((entry) => entry?.namespace === namespace)
    return [...committed.filter((entry) => !undecided.has(entry.key)), ...others].filter((entry) => entry !== undefined)
  }

  put(kind: string, object: ApiObject): Entry {
    const entry = entryOf(object, this.#nextRevision())
    const before = this.get(kind, entry.namespace, entry.name)
    this.#record(kind, before === undefined ? { type: 'ADDED', entry, before } : { type: 'MODIFIED', entry, before })
    return entry
  }

  remove(kind: string, before: Entry): Entry {
    const entry = entryOf(before.object, this.#nextRevision())
    this.#record(kind, { type: 'DELETED', entry, before })
    return entry
  }

  discard(): void {
    this.#isDiscarded = true
  }

  #nextRevision(): number {
    return this.#committed.revision + this.#changes.length + 1
  }

  #record(kind: string, change: Change): void {
    this.#changes.push({ kind, change })
    this.#place(kind, change.entry.key, afterChange(change))
    this.#observer(kind, change.before, afterChange(change))
  }

  #undoTo(length: number): void {
    for (let undone = this.#changes.pop(); undone !== undefined; undone = this.#changes.pop()) {
      if (this.#changes.length < length) {
        this.#changes.push(undone)
        return
      }
      const { kind, change } = undone
      this.#place(kind, change.entry.key, change.before)
      this.#observer(kind, afterChange(change), change.before)
    }
  }

  #place(kind: string, key: string, entry: Entry | undefined): void {
    let undecided = this.#undecided.get(kind)
    if (undecided === undefined) this.#undecided.set(kind, (undecided = new Map()))
    undecided.set(key, entry)
  }
}
