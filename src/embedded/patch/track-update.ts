/**
 * Records in managedFields what an update (or a patch other than apply) changed, so that a later server-side apply
 * knows whose value it would overwrite.
 */
import { defaultObject } from '../../api/defaulting/default-object.ts'
import type { ApiObject, ResourceType } from '../resource.ts'
import type { FieldSet } from './field-set.ts'
import { difference, emptySet, singlePath, union, withoutSubtrees } from './field-set.ts'
import type { Manager, Owned } from './managed-fields.ts'
import { isSameManager, readManagers, unownedFields, writeManagers } from './managed-fields.ts'
import { compare } from './ownership.ts'

export interface UpdateToTrack {
  /** Absent for a create. */
  readonly old: ApiObject | undefined
  /** What the client sent, decoded, with or without managedFields. */
  readonly next: ApiObject
  readonly resource: ResourceType
  /** The query parameter fieldManager, or else the User-Agent up to its first "/". */
  readonly fieldManager: string
  readonly subresource?: 'status'
  readonly nowMs: number
}

export function trackUpdate({ old, next, resource, fieldManager, subresource, nowMs }: UpdateToTrack): ApiObject {
  const before = readManagers(old)
  const base = isReset(next) ? [] : givenManagers(next, before)
  const ignored = ignoredFields(resource, subresource)
  // As on a real server, defaults belong to the client that wrote the object.
  const comparison = compare(old ?? emptyOf(next), defaultObject(next), resource.schema)
  const set = withoutSubtrees(union(comparison.added, comparison.modified), ignored)
  const removed = withoutSubtrees(comparison.removed, ignored)
  const me: Manager = {
    name: fieldManager,
    operation: 'Update',
    apiVersion: next.apiVersion,
    subresource: subresource ?? '',
  }
  const mine = base.find(({ manager }) => isSameManager(manager, me))
  const managers: Owned[] = base
    .filter((owned) => owned !== mine)
    .map((owned) => ({ ...owned, fields: difference(owned.fields, union(set, removed)) }))
  managers.push({ manager: me, time: mine?.time, fields: difference(union(mine?.fields ?? emptySet, set), removed) })
  return writeManagers(next, managers, before, nowMs)
}

/** A client may edit managedFields itself. kubectl does so to move from client-side to server-side apply. */
function givenManagers(next: ApiObject, before: readonly Owned[]): readonly Owned[] {
  const given = readManagers(next)
  return given.length === 0 ? before : given
}

/** In Kubernetes, a list with one empty entry means: forget all managers. */
function isReset(next: ApiObject): boolean {
  const entries = next.metadata['managedFields']
  return Array.isArray(entries) && entries.length === 1 && Object.keys(entries[0] ?? {}).length === 0
}

function ignoredFields(resource: ResourceType, subresource: 'status' | undefined): FieldSet {
  if (!resource.hasStatus) return unownedFields
  const status = singlePath('f:status')
  if (subresource === undefined) return union(unownedFields, status)
  const others = Object.keys(resource.schema.fields).filter((field) => field !== 'status' && field !== 'metadata')
  return others.map((field) => singlePath(`f:${field}`)).reduce(union, unownedFields)
}

function emptyOf(next: ApiObject): ApiObject {
  return { apiVersion: next.apiVersion, kind: next.kind, metadata: { name: next.metadata.name } }
}
