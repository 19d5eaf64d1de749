/** What all writes share: where they write to, how they number and name things. */
import type { Kind } from './api-server-kinds.ts'
import type { Allocator, ApiObject, Prepared } from './resource.ts'
import { invalid } from './status.ts'
import type { Transaction } from './store-transaction.ts'

export interface WriteContext {
  readonly allocator: Allocator
  /** Unix milliseconds. */
  now(): number
  newUid(): string
  /** The part that generateName appends. */
  nameSuffix(): string
}

/** Which object a request names. */
export interface Target {
  readonly kind: Kind
  readonly namespace: string | undefined
  readonly name: string
}

/** The prepared object, or the 422 that tells what is wrong with it. */
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

/** A dry run answers as if it had written. */
export function discardIf(isDryRun: boolean, transaction: Transaction): void {
  if (isDryRun) transaction.discard()
}
