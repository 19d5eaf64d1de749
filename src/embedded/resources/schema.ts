/**
 * A small schema language for API objects. One description per kind drives decoding, OpenAPI, strategic merge patch
 * and server-side apply, so that they cannot disagree.
 */

export type Schema = ScalarSchema | ObjectSchema | MapSchema | ListSchema

export interface ScalarSchema {
  readonly type: 'string' | 'integer' | 'boolean' | 'int-or-string' | 'time' | 'micro-time' | 'quantity' | 'any'
  readonly format?: 'int32' | 'int64'
  readonly description: string
  /** In Go this field has no "unset": false and 0 mean the same as absent, and are not stored. */
  readonly isZeroAbsent?: true
}

export interface ObjectSchema {
  readonly type: 'object'
  /** Its name in OpenAPI, e.g. `io.k8s.api.core.v1.ServiceSpec`. */
  readonly name: string
  readonly description: string
  /** What the parent's field says about it, where that is more than the type's own description. */
  readonly fieldDescription?: string
  readonly fields: Readonly<Record<string, Schema>>
  readonly required: readonly string[]
  readonly kind?: GroupVersionKind
  /** It only exists if somebody created it, so it can be owned. Other objects are always part of their parent. */
  readonly isPointer?: true
  /** Server-side apply treats it as one value. */
  readonly isAtomic?: true
}

export interface KindSchema extends ObjectSchema {
  readonly kind: GroupVersionKind
}

interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** Any keys, such as labels. */
export interface MapSchema {
  readonly type: 'map'
  readonly description: string
  readonly values: Schema
  /** Server-side apply treats it as one value. */
  readonly isAtomic: boolean
}

export interface ListSchema {
  readonly type: 'list'
  readonly description: string
  readonly items: Schema
  /** How server-side apply treats the list. */
  readonly apply: ApplyList
  /** How a strategic merge patch treats it: replaced as a whole, a set of values, or merged by one key. */
  readonly merge: 'replace' | 'set' | { readonly key: string }
}

export type ApplyList =
  | { readonly as: 'atomic' | 'set' }
  | { readonly as: 'map'; readonly keys: readonly string[]; readonly keyDefaults: Readonly<Record<string, string>> }

export function string(description: string): ScalarSchema {
  return { type: 'string', description }
}

export function int32(description: string): ScalarSchema {
  return { type: 'integer', format: 'int32', description }
}

export function int64(description: string): ScalarSchema {
  return { type: 'integer', format: 'int64', description }
}

export function boolean(description: string): ScalarSchema {
  return { type: 'boolean', description }
}

export function zeroIsAbsent(schema: ScalarSchema): ScalarSchema {
  return { ...schema, isZeroAbsent: true }
}

export function time(description: string): ScalarSchema {
  return { type: 'time', description }
}

export function object(
  name: string,
  description: string,
  fields: Readonly<Record<string, Schema>>,
  required: readonly string[] = [],
): ObjectSchema {
  return { type: 'object', name, description, fields, required }
}

export function field(schema: ObjectSchema, fieldDescription: string): ObjectSchema {
  return { ...schema, fieldDescription }
}

/** A field that may hold nothing instead. */
export function pointer(schema: ObjectSchema, fieldDescription: string): ObjectSchema {
  return { ...schema, fieldDescription, isPointer: true }
}

export function map(description: string, values: Schema = string('')): MapSchema {
  return { type: 'map', description, values, isAtomic: false }
}

export function atomicMap(description: string, values: Schema = string('')): MapSchema {
  return { type: 'map', description, values, isAtomic: true }
}

export function atomicList(description: string, items: Schema): ListSchema {
  return { type: 'list', description, items, apply: { as: 'atomic' }, merge: 'replace' }
}

export function setList(description: string, items: Schema, merge: 'replace' | 'set' = 'set'): ListSchema {
  return { type: 'list', description, items, apply: { as: 'set' }, merge }
}

export function keyedList(
  description: string,
  items: ObjectSchema,
  keys: readonly [string, ...string[]],
  options: { readonly keyDefaults?: Readonly<Record<string, string>>; readonly mergeKey?: string } = {},
): ListSchema {
  return {
    type: 'list',
    description,
    items,
    apply: { as: 'map', keys, keyDefaults: options.keyDefaults ?? {} },
    merge: { key: options.mergeKey ?? keys[0] },
  }
}
