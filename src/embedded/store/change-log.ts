/** What the store asks of its disk, and what it gets back from it when it starts. */
import type { Change, Entry } from './entry.ts'
import type { KindChange } from './transaction.ts'

/** Makes changes durable. */
export interface ChangeLog {
  /** Resolves when a crash can no longer lose the changes; rejects when none of them was kept. */
  append(changes: readonly KindChange[]): Promise<void>
  readonly needsCompaction: boolean
  compact(revision: number, entries: Iterable<KindEntry>): Promise<void>
}

export interface KindEntry {
  readonly kind: string
  readonly entry: Entry
}

export interface Recovered {
  readonly snapshotRevision: number
  readonly entries: readonly KindEntry[]
  /** Changes after the snapshot, in order. */
  readonly changes: readonly RecoveredChange[]
}

/** A change as read back; what was before is the store's to know. */
export interface RecoveredChange {
  readonly revision: number
  readonly kind: string
  readonly key: string
  changeOf(before: Entry | undefined): Change
}
