/**
 * Server-side apply: a manager sends all fields it cares about, and then owns them. What it sent before and leaves out
 * now is removed, unless another manager owns it too. A value that another manager set differently is a conflict.
 */
import type { ApiObject, FieldError, ResourceType } from '../resource.ts'
import type { FieldSet } from './field-set.ts'
import {
  difference,
  emptySet,
  intersection,
  isEmpty,
  renderPaths,
  singlePath,
  union,
  withoutSubtrees,
} from './field-set.ts'
import { fieldsLastApplied, rememberApplied } from './last-applied.ts'
import type { Manager, Owned } from './managed-fields.ts'
import { isSameManager, readManagers, unownedFields, writeManagers } from './managed-fields.ts'
import { compare, fieldsSetBy } from './ownership.ts'
import { mergeTyped, removeFields } from './typed-merge.ts'

export interface Apply {
  readonly live: ApiObject | undefined
  /** Decoded: its types are right, and it has no unknown fields. */
  readonly config: ApiObject
  readonly resource: ResourceType
  readonly fieldManager: string
  readonly force: boolean
  readonly subresource: '' | 'status'
  readonly nowMs: number
}

export type Applied =
  | { readonly ok: true; readonly object: ApiObject }
  | { readonly ok: false; readonly message: string; readonly causes: readonly FieldError[] }

export function serverSideApply(apply: Apply): Applied {
  const { config, resource, nowMs } = apply
  const live = apply.live ?? skeletonOf(config)
  const before = readManagers(live)
  const me: Manager = {
    name: apply.fieldManager,
    operation: 'Apply',
    apiVersion: config.apiVersion,
    subresource: apply.subresource,
  }
  const mine = before.find(({ manager }) => isSameManager(manager, me))
  const others = before.filter((owned) => owned !== mine)
  const ignored = ignoredFields(resource, apply.subresource)
  const wanted = withoutSubtrees(fieldsSetBy(config, resource.schema), ignored)

  const lost = difference(mine?.fields ?? emptySet, wanted)
  const kept = others.reduce((sum, { fields }) => union(sum, fields), wanted)
  const merged = mergeTyped(live, config, resource.schema)
  const next = removeFields(merged, resource.schema, lost, kept) as ApiObject

  const comparison = compare(live, next, resource.schema)
  const changed = withoutSubtrees(union(comparison.added, comparison.modified), ignored)
  const contested = difference(changed, fieldsLastApplied(live, resource, apply.fieldManager))
  const conflicts = findConflicts(others, contested)
  if (conflicts.length > 0 && !apply.force) return refusal(conflicts)
  const managers = others.map((owned) => ({
    ...owned,
    fields: difference(owned.fields, union(intersection(owned.fields, changed), comparison.removed)),
  }))
  managers.push({ manager: me, time: mine?.time, fields: wanted })
  const remembered = rememberApplied(next, config, apply.fieldManager)
  return { ok: true, object: writeManagers(remembered, managers, before, nowMs) }
}

interface Conflict {
  readonly manager: Manager
  readonly paths: readonly string[]
}

function findConflicts(others: readonly Owned[], changed: FieldSet): Conflict[] {
  return others
    .map(({ manager, fields }) => ({ manager, fields: intersection(fields, changed) }))
    .filter(({ fields }) => !isEmpty(fields))
    .map(({ manager, fields }) => ({ manager, paths: renderPaths(fields) }))
    .sort((a, b) => (a.manager.name < b.manager.name ? -1 : 1))
}

function refusal(conflicts: readonly Conflict[]): Applied {
  const causes = conflicts.flatMap(({ manager, paths }) =>
    paths.map((field) => ({
      field,
      reason: 'FieldManagerConflict' as const,
      message: `conflict with ${renderManager(manager)}`,
    })),
  )
  const parts = conflicts.map(({ manager, paths }) => {
    const noun = paths.length === 1 ? 'conflict' : 'conflicts'
    const list = paths.length === 1 ? ` ${paths[0]}` : paths.map((path) => `\n- ${path}`).join('')
    return `${noun} with ${renderManager(manager)}:${list}`
  })
  const count = causes.length === 1 ? '1 conflict' : `${causes.length} conflicts`
  return { ok: false, message: `Apply failed with ${count}: ${parts.join('\n')}`, causes }
}

function renderManager({ name, operation, apiVersion, subresource }: Manager): string {
  const part = subresource === '' ? '' : ` with subresource "${subresource}"`
  return operation === 'Apply' ? `"${name}"${part}` : `"${name}"${part} using ${apiVersion}`
}

function ignoredFields(resource: ResourceType, subresource: '' | 'status'): FieldSet {
  return resource.hasStatus && subresource === '' ? union(unownedFields, singlePath('f:status')) : unownedFields
}

function skeletonOf({ apiVersion, kind, metadata: { name, namespace } }: ApiObject): ApiObject {
  return { apiVersion, kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }) } }
}
