/** How server-side apply divides a value: into children that can be owned one by one, or not at all. */
import type { JsonObject } from '../../api/json-reader.ts'
import { isJsonObject } from '../../api/json-reader.ts'
import type { ApplyList, Schema } from '../resources/schema.ts'
import { fieldElement, keyElement, valueElement } from './field-set.ts'
import { ownValue } from './json-object.ts'

export interface Child {
  readonly element: string
  readonly value: unknown
  readonly schema: Schema | undefined
}

/**
 * Leaves, and values of unknown schema, have no children. If two list items have the same key (a dual-stack Node has
 * two addresses of one type), the last one counts.
 */
export function childrenOf(value: unknown, schema: Schema | undefined): ReadonlyMap<string, Child> | undefined {
  if (schema?.type === 'object' && schema.isAtomic === undefined && isJsonObject(value)) {
    const { fields } = schema
    return byElement(
      Object.entries(value).map(([key, inner]) => ({
        element: fieldElement(key),
        value: inner,
        schema: Object.hasOwn(fields, key) ? fields[key] : undefined,
      })),
    )
  }
  if (schema?.type === 'map' && !schema.isAtomic && isJsonObject(value))
    return byElement(
      Object.entries(value).map(([key, inner]) => ({
        element: fieldElement(key),
        value: inner,
        schema: schema.values,
      })),
    )
  if (schema?.type === 'list' && schema.apply.as !== 'atomic' && Array.isArray(value)) {
    const { apply } = schema
    return byElement(
      value.map((item: unknown) => ({ element: itemElement(item, apply), value: item, schema: schema.items })),
    )
  }
  return undefined
}

/**
 * Items of sets and of keyed lists exist because they are listed; fields of objects exist because they have a value.
 */
export function isListItem(element: string): boolean {
  return !element.startsWith('f:')
}

export function itemElement(item: unknown, apply: ApplyList): string {
  if (apply.as !== 'map' || !isJsonObject(item)) return valueElement(item)
  return keyElement(keyOf(item, apply))
}

function keyOf(item: JsonObject, apply: ApplyList & { readonly as: 'map' }): JsonObject {
  return Object.fromEntries(
    apply.keys.map((key) => [key, ownValue(item, key) ?? ownValue(apply.keyDefaults, key) ?? null]),
  )
}

function byElement(children: readonly Child[]): ReadonlyMap<string, Child> {
  return new Map(children.filter(({ value }) => value !== undefined).map((child) => [child.element, child]))
}
