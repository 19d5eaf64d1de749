/** Builds a kind from what is common to all kinds (decoding, defaults, metadata) and what is special to this one. */
import { isDeepStrictEqual } from 'node:util'
import { defaultObject } from '../../api/defaulting/default-object.ts'
import type { Allocator, ApiObject, FieldError, Prepared, ResourceType } from '../resource.ts'
import { decodeObject } from './decode-object.ts'
import { invalid } from './field-errors.ts'
import type { NameRule } from './object-meta.ts'
import { metadataErrors } from './object-meta.ts'

/** `T` is the type that an object has once it is decoded by the schema. */
export interface ResourceDefinition<T extends ApiObject> extends Omit<
  ResourceType,
  'group' | 'version' | 'kind' | 'prepareCreate' | 'prepareUpdate' | 'cells' | 'selectableFields'
> {
  readonly wrongName: NameRule
  readonly selectableFields?: Readonly<Record<string, (object: T) => string>>
  readonly cells: (object: T, nowMs: number) => readonly (string | number | boolean)[]
  /** Fills in what plain defaults cannot: allocated values, and what an update inherits from the old object. */
  readonly complete?: (object: T, old: T | undefined, allocator: Allocator) => Completed<T>
  readonly validate: (object: T, old: T | undefined) => readonly FieldError[]
}

export interface Completed<T> {
  readonly object: T
  /** What could not be allocated. The object is then not validated. */
  readonly errors: readonly FieldError[]
}

export function defineResource<T extends ApiObject>(definition: ResourceDefinition<T>): ResourceType {
  const { wrongName, complete, validate, cells, selectableFields = {}, ...rest } = definition
  const type = { ...rest, ...definition.schema.kind }

  function prepare(given: ApiObject, old: T | undefined, allocator: Allocator): Prepared {
    const decoded = decodeObject(given, type)
    // The server has already decoded the body. This is for callers that made the object themselves.
    if (!decoded.ok) return { ok: false, errors: [invalid('', given.kind, decoded.message)] }
    const defaulted = defaultObject(withIdentityOf(decoded.object, old)) as unknown as T
    const completed = complete?.(defaulted, old, allocator) ?? { object: defaulted, errors: [] }
    if (completed.errors.length > 0) return { ok: false, errors: completed.errors }
    const { object } = completed
    const errors = [
      ...metadataErrors(object, type.isNamespaced, wrongName),
      ...(old === undefined ? [] : identityErrors(object, old)),
      ...validate(object, old),
    ]
    return errors.length > 0 ? { ok: false, errors } : { ok: true, object }
  }

  return {
    ...type,
    selectableFields: selectableFields as ResourceType['selectableFields'],
    cells: (object, nowMs) => cells(object as T, nowMs),
    prepareCreate: (object, allocator) => prepare(object, undefined, allocator),
    prepareUpdate: (object, old, allocator) => prepare(object, old as T, allocator),
  }
}

const identity = ['name', 'namespace', 'uid', 'creationTimestamp'] as const

/** A client may leave out what the server has set. */
function withIdentityOf(object: ApiObject, old: ApiObject | undefined): ApiObject {
  if (old === undefined) return object
  const inherited = identity.filter(
    (field) => object.metadata[field] === undefined && old.metadata[field] !== undefined,
  )
  if (inherited.length === 0) return object
  const values = Object.fromEntries(inherited.map((field) => [field, old.metadata[field]]))
  return { ...object, metadata: { ...object.metadata, ...values } }
}

function identityErrors(object: ApiObject, old: ApiObject): FieldError[] {
  return identity
    .filter((field) => !isDeepStrictEqual(object.metadata[field], old.metadata[field]))
    .map((field) => invalid(`metadata.${field}`, object.metadata[field], 'field is immutable'))
}
