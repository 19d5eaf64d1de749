import type { ObjectKind } from '../api/records.ts'

/**
 * Where a source delivers the objects of one kind. Objects are read (parsed into something small) as they arrive, so
 * that a list of 10,000 is never held as raw JSON.
 */
export interface KindSink<Item = unknown> {
  /** Parses one API object. Never throws: a bad object is reported and becomes an item that changes nothing. */
  read(object: unknown): Item
  /** The complete list: objects that are not in it no longer exist. */
  replace(items: readonly Item[]): void
  upsert(item: Item): void
  remove(item: Item): void
}

export interface ObjectIntake {
  sink(kind: ObjectKind): KindSink
}
