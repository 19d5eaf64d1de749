/** One stored version of an object, with its JSON made once and shared by lists, watches and the journal. */
import type { ApiObject } from '../resource.ts'

export interface Entry {
  /** `namespace/name`, or `name` for cluster-scoped kinds. */
  readonly key: string
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string
  readonly name: string
  /** The store's revision that created this version: the object's resourceVersion as a number. */
  readonly revision: number
  readonly object: ApiObject
  readonly json: string
}

export type Change =
  | { readonly type: 'ADDED'; readonly entry: Entry; readonly before: undefined }
  | { readonly type: 'MODIFIED'; readonly entry: Entry; readonly before: Entry }
  /** `entry` is the last state with the resourceVersion of the deletion. */
  | { readonly type: 'DELETED'; readonly entry: Entry; readonly before: Entry }

export function entryOf(object: ApiObject, revision: number): Entry {
  const { kind, apiVersion, metadata, ...rest } = object
  // Kind and version come first, because lists cut them off.
  const stamped = { kind, apiVersion, metadata: { ...metadata, resourceVersion: String(revision) }, ...rest }
  return storedEntry(stamped, revision, JSON.stringify(stamped))
}

/** For an object that already has its resourceVersion. */
export function storedEntry(object: ApiObject, revision: number, json: string): Entry {
  const { name, namespace = '' } = object.metadata
  return { key: entryKey(namespace, name), namespace, name, revision, object, json }
}

export function entryKey(namespace: string | undefined, name: string): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`
}

/** What the key holds after the change. */
export function afterChange(change: Change): Entry | undefined {
  return change.type === 'DELETED' ? undefined : change.entry
}
