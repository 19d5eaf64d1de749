/** Merges an applied configuration into an object, and removes fields that have no owner any more. */
import { isJsonObject } from '../../api/json-reader.ts'
import type { ListSchema, Schema } from '../resources/schema.ts'
import type { FieldSet } from './field-set.ts'
import { emptySet, isEmpty } from './field-set.ts'
import { childrenOf, itemElement } from './typed-children.ts'

export function mergeTyped(live: unknown, config: unknown, schema: Schema | undefined): unknown {
  if (live === undefined) return config
  const children = childrenOf(config, schema)
  if (children === undefined || childrenOf(live, schema) === undefined) return config
  if (schema?.type === 'list' && Array.isArray(live) && Array.isArray(config)) return mergeLists(live, config, schema)
  const merged = new Map(isJsonObject(live) ? Object.entries(live) : [])
  for (const [element, child] of children) {
    const key = element.slice(2)
    merged.set(key, mergeTyped(merged.get(key), child.value, child.schema))
  }
  return Object.fromEntries(merged)
}

/** The configuration's items are in its order; other items stay behind the item they followed. */
function mergeLists(live: readonly unknown[], config: readonly unknown[], schema: ListSchema): unknown[] {
  const elementOf = (item: unknown): string => itemElement(item, schema.apply)
  const configured = new Set(config.map(elementOf))
  const merged = config.map((item) => {
    const before = live.find((other) => elementOf(other) === elementOf(item))
    return mergeTyped(before, item, schema.items)
  })
  for (const [index, item] of live.entries()) {
    if (configured.has(elementOf(item))) continue
    const before = live.slice(0, index)
    const after = merged.findLastIndex((other) => before.some((one) => elementOf(one) === elementOf(other)))
    merged.splice(after + 1, 0, item)
  }
  return merged
}

/** Removes the fields in `lost`, except where `kept` has something below them. */
export function removeFields(value: unknown, schema: Schema | undefined, lost: FieldSet, kept: FieldSet): unknown {
  const children = childrenOf(value, schema)
  if (children === undefined || lost.children.size === 0) return value
  const replaced = new Map<string, unknown>()
  for (const [element, lostChild] of lost.children) {
    const child = children.get(element)
    if (child === undefined) continue
    const keptChild = kept.children.get(element) ?? emptySet
    const isWholeLost = lostChild.isMember && isEmpty(keptChild)
    const rest = isWholeLost ? undefined : removeFields(child.value, child.schema, lostChild, keptChild)
    replaced.set(element, isEmptied(rest, child.value) && !keptChild.isMember ? undefined : rest)
  }
  if (schema?.type === 'list' && Array.isArray(value)) {
    return value.flatMap((item: unknown) => {
      const element = itemElement(item, schema.apply)
      const rest = replaced.has(element) ? replaced.get(element) : item
      return rest === undefined ? [] : [rest]
    })
  }
  const entries = Object.entries(isJsonObject(value) ? value : {}).map(
    ([key, inner]) => [key, replaced.has(`f:${key}`) ? replaced.get(`f:${key}`) : inner] as const,
  )
  return Object.fromEntries(entries.filter(([, inner]) => inner !== undefined))
}

/** A container that lost its last child is removed as well, as with Go's omitempty. */
function isEmptied(value: unknown, before: unknown): boolean {
  if (value === before) return false
  return Array.isArray(value) ? value.length === 0 : isJsonObject(value) && Object.keys(value).length === 0
}
