/** `metadata.managedFields`: who owns which fields. Entries in the API become sets here. */
import type { ApiObject } from '../resource.ts'
import { isJsonObject } from '../../api/json-reader.ts'
import type { FieldSet } from './field-set.ts'
import { emptySet, equalSets, fromFieldsV1, isEmpty, singlePath, toFieldsV1, union } from './field-set.ts'

export interface Manager {
  readonly name: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  /** Empty for the main resource. */
  readonly subresource: string
}

export interface Owned {
  readonly manager: Manager
  readonly time: string | undefined
  readonly fields: FieldSet
}

/** Fields that nobody owns: identity, and what the server sets. */
export const unownedFields: FieldSet = [
  ['apiVersion'],
  ['kind'],
  ['metadata', 'name'],
  ['metadata', 'namespace'],
  ['metadata', 'uid'],
  ['metadata', 'selfLink'],
  ['metadata', 'resourceVersion'],
  ['metadata', 'generation'],
  ['metadata', 'creationTimestamp'],
  ['metadata', 'deletionTimestamp'],
  ['metadata', 'deletionGracePeriodSeconds'],
  ['metadata', 'managedFields'],
]
  .map((path) => singlePath(...path.map((name) => `f:${name}`)))
  .reduce(union, emptySet)

export function readManagers(object: ApiObject | undefined): readonly Owned[] {
  const entries = object?.metadata['managedFields']
  if (!Array.isArray(entries)) return []
  return entries.flatMap((entry: unknown) => {
    if (!isJsonObject(entry)) return []
    const { operation, manager, apiVersion, subresource, time, fieldsV1 } = entry
    if (operation !== 'Apply' && operation !== 'Update') return []
    return [
      {
        manager: { name: text(manager), operation, apiVersion: text(apiVersion), subresource: text(subresource) },
        time: typeof time === 'string' ? time : undefined,
        fields: fromFieldsV1(fieldsV1),
      },
    ]
  })
}

export function isSameManager(a: Manager, b: Manager): boolean {
  return (
    a.name === b.name && a.operation === b.operation && a.apiVersion === b.apiVersion && a.subresource === b.subresource
  )
}

/** Managers whose fields did not change keep their time; the others get the current one. */
export function writeManagers<T extends ApiObject>(
  object: T,
  managers: readonly Owned[],
  before: readonly Owned[],
  nowMs: number,
): T {
  // Kubernetes times have whole seconds.
  const now = new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z')
  const entries = managers
    .filter(({ fields }) => !isEmpty(fields))
    .map((owned) => {
      const old = before.find((one) => isSameManager(one.manager, owned.manager))
      const time = old?.time !== undefined && equalSets(old.fields, owned.fields) ? old.time : now
      return renderEntry({ ...owned, time })
    })
    .sort(byOperationTimeAndName)
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata: entries.length === 0 ? metadata : { ...metadata, managedFields: entries } }
}

function renderEntry({ manager, time, fields }: Owned): Entry {
  return {
    apiVersion: manager.apiVersion,
    fieldsType: 'FieldsV1',
    fieldsV1: toFieldsV1(fields),
    manager: manager.name,
    operation: manager.operation,
    ...(manager.subresource === '' ? {} : { subresource: manager.subresource }),
    time: time ?? '',
  }
}

interface Entry {
  readonly manager: string
  readonly operation: string
  readonly time: string
  readonly [field: string]: unknown
}

function byOperationTimeAndName(a: Entry, b: Entry): number {
  const keys = ['operation', 'time', 'manager'] as const
  const different = keys.find((key) => a[key] !== b[key])
  return different === undefined ? 0 : a[different] < b[different] ? -1 : 1
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
