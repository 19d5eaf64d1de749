/**
 * All objects of the embedded API server. Readers only see committed state. Writers queue; those that wait while a
 * batch is made durable form the next batch, so that concurrent writes share one fsync.
 */
import type { Logger } from '../../core/logger.ts'
import type { ChangeLog, KindEntry, Recovered } from './change-log.ts'
import { Collection } from './collection.ts'
import { afterChange } from './entry.ts'
import type { Entry } from './entry.ts'
import { Batch } from './transaction.ts'
import type { CommittedState, KindChange, Transaction, WriteObserver } from './transaction.ts'

export interface StoreOptions {
  /** How many changes per kind a watch may lag behind. */
  readonly historySize: number
  readonly observer: WriteObserver
  /** Collections that exist from the start, even if they are empty. */
  readonly kinds: readonly string[]
  readonly log: Logger
  /** Without one, nothing is kept on disk. */
  readonly journal?: ChangeLog
  readonly recovered?: Recovered
}

/** At most this many writes share one fsync, so that the first does not wait long for the last. */
const maxBatch = 512
/** resourceVersion 0 means "any" to clients, so no list may ever carry it. */
const firstRevision = 1

export class Store implements CommittedState {
  readonly #options: StoreOptions
  readonly #collections = new Map<string, Collection>()
  readonly #queue: ((batch: Batch) => Settle)[] = []
  readonly #baseRevision: number
  #revision: number
  #committing: Promise<void> | undefined

  constructor(options: StoreOptions) {
    this.#options = options
    this.#baseRevision = options.recovered?.snapshotRevision ?? firstRevision
    this.#revision = this.#baseRevision
    for (const kind of options.kinds) this.collection(kind)
    if (options.recovered !== undefined) this.#load(options.recovered)
  }

  get revision(): number {
    return this.#revision
  }

  get kinds(): Iterable<string> {
    return this.#collections.keys()
  }

  collection(kind: string): Collection {
    let collection = this.#collections.get(kind)
    if (collection === undefined) {
      collection = new Collection(this.#options.historySize, this.#baseRevision)
      this.#collections.set(kind, collection)
    }
    return collection
  }

  get(kind: string, key: string): Entry | undefined {
    return this.#collections.get(kind)?.get(key)
  }

  list(kind: string, namespace?: string): readonly Entry[] {
    return this.#collections.get(kind)?.list(namespace) ?? []
  }

  /** Resolves with the result once it is durable. A write that throws changes nothing. */
  write<T>(write: (transaction: Transaction) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push((batch) => {
        try {
          const result = batch.run(write)
          return { commit: () => resolve(result), fail: reject }
        } catch (error) {
          return { commit: () => reject(error), fail: reject }
        }
      })
      this.#committing ??= this.#commitAll()
    })
  }

  /** Resolves when no write is going on. */
  async settled(): Promise<void> {
    while (this.#committing !== undefined) await this.#committing
  }

  /** Forgets the history: watches and exact lists of older revisions get 410, as after a compaction of etcd. */
  forgetHistory(): void {
    for (const collection of this.#collections.values()) collection.history.compact(this.#revision)
  }

  async #commitAll(): Promise<void> {
    // A turn later, so that writes of the same turn share the first batch.
    await Promise.resolve()
    while (this.#queue.length > 0) {
      const batch = new Batch(this, this.#options.observer)
      const settles = this.#queue.splice(0, maxBatch).map((run) => run(batch))
      try {
        if (batch.changes.length > 0) await this.#options.journal?.append(batch.changes)
      } catch (error) {
        // Even a refusal may be due to a write of this batch that is now undone, so all of them get the same error.
        batch.undoAll()
        for (const settle of settles) settle.fail(error as Error)
        continue
      }
      this.#commit(batch.changes)
      for (const settle of settles) settle.commit()
      await this.#compactIfDue()
    }
    this.#committing = undefined
  }

  #commit(changes: readonly KindChange[]): void {
    const touched = new Set<Collection>()
    for (const { kind, change } of changes) {
      const collection = this.collection(kind)
      collection.apply(change)
      touched.add(collection)
    }
    this.#revision += changes.length
    for (const collection of touched) collection.notify()
  }

  async #compactIfDue(): Promise<void> {
    const { journal, log } = this.#options
    if (journal?.needsCompaction !== true) return
    try {
      await journal.compact(this.#revision, this.#entries())
    } catch (error) {
      log.warn('the journal could not be compacted and keeps growing', { error })
    }
  }

  *#entries(): Iterable<KindEntry> {
    for (const [kind, collection] of this.#collections) {
      for (const entry of collection.list()) yield { kind, entry }
    }
  }

  #load(recovered: Recovered): void {
    const { observer } = this.#options
    for (const { kind, entry } of recovered.entries) {
      this.collection(kind).place(entry.key, entry.namespace, entry)
      observer(kind, undefined, entry)
    }
    // Replayed changes are history, too, so that a watch survives a restart of the server.
    for (const record of recovered.changes) {
      const collection = this.collection(record.kind)
      const change = record.changeOf(collection.get(record.key))
      collection.apply(change)
      observer(record.kind, change.before, afterChange(change))
      this.#revision = record.revision
    }
  }
}

interface Settle {
  commit(): void
  fail(error: Error): void
}
