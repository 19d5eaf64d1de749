import type { ObjectKind, Parsed, RecordOf } from '../api/records.ts'
import type { SpanContext } from '../core/trace.ts'

/**
 * Where a source delivers the objects of one kind. Objects are read (parsed into something small) as they arrive, so
 * that a list of 10,000 is never held as raw JSON.
 */
export interface KindSink<Item = unknown> {
  /** Parses one API object. Never throws: a bad object is reported and becomes an item that changes nothing. */
  read(object: unknown): Item
  /** One of a list that has only begun to arrive: work on it may begin. The list may break off, and come again from the start. */
  foresee?(item: Item): void
  /** The complete list: objects that are not in it no longer exist. */
  replace(items: readonly Item[]): void
  /** `cause`: what another process did to tell of it. */
  upsert(item: Item, cause?: SpanContext): void
  remove(item: Item, cause?: SpanContext): void
  /** The server does not let us read them, for now. */
  forbidden?(): void
}

export interface ObjectIntake {
  sink(kind: ObjectKind): KindSink
}

/** For a source that makes the records itself, because what it gets are no API objects. */
export interface RecordSink<K extends ObjectKind> extends KindSink<Parsed<RecordOf<K>>> {
  /** Reports what is wrong with it. */
  report(parsed: Parsed<RecordOf<K>>): void
}

export interface RecordIntake {
  sink<K extends ObjectKind>(kind: K): RecordSink<K>
}
