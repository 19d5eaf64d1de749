/** What the store needs from its disk, and what it gets back when it starts. */
import type { Change, Entry } from './entry.ts'
import type { KindChange } from './transaction.ts'

export interface ChangeLog {
  /** Resolves when a crash can no longer lose the changes; rejects if none of them was kept. */
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

/** Without the state before the change, which the store knows. */
export interface RecoveredChange {
  readonly revision: number
  readonly kind: string
  readonly key: string
  changeOf(before: Entry | undefined): Change
}
