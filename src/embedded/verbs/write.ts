/** What all writes share. */
import type { Kind } from './kinds.ts'
import type { Allocator, ApiObject, Prepared } from '../resource.ts'
import { invalid, tooLarge } from '../status.ts'
import { storedEntry } from '../store/entry.ts'
import type { Entry } from '../store/entry.ts'
import type { Transaction } from '../store/transaction.ts'

export interface WriteContext {
  readonly allocator: Allocator
  /** Unix milliseconds. */
  now(): number
  newUid(): string
  /** The part that generateName appends. */
  nameSuffix(): string
}

export interface Target {
  readonly kind: Kind
  readonly namespace: string | undefined
  readonly name: string
}

/** Throws a 422 if the object is not valid. */
export function preparedOrThrow(kind: Kind, name: string, prepared: Prepared): ApiObject {
  if (!prepared.ok) throw invalid(kind.type, name, prepared.errors)
  return prepared.object
}

/** Times in API objects have no fraction. */
export function timestamp(nowMs: number): string {
  return new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z')
}

export function finalizersOf(object: ApiObject): readonly string[] {
  const { finalizers } = object.metadata
  return Array.isArray(finalizers) ? (finalizers as string[]) : []
}

/** An object may be as large as one request, so that many small patches cannot make it grow without end. */
const maxObjectBytes = 3 * 1024 * 1024

export function refuseTooLarge(entry: Entry): void {
  if (entry.json.length > maxObjectBytes) throw tooLarge(`limit is ${maxObjectBytes}`)
}

/**
 * The answer to a write. A dry run changes nothing and answers as if it had, except that the version stays the current
 * one, or none.
 */
export function answerOf(
  written: Entry,
  before: Entry | undefined,
  { isDryRun }: { readonly isDryRun: boolean },
  transaction: Transaction,
): Entry {
  if (!isDryRun) return written
  transaction.discard()
  const { resourceVersion: _made, ...metadata } = written.object.metadata
  const kept = before === undefined ? {} : { resourceVersion: before.object.metadata.resourceVersion }
  const object = { ...written.object, metadata: { ...metadata, ...kept } } as ApiObject
  return storedEntry(object, before?.revision ?? 0, JSON.stringify(object))
}
