/**
 * Strategic merge patch: a merge patch that knows the schema. Some lists merge by a key or as sets, and directives
 * ("$patch", "$retainKeys", "$deleteFromPrimitiveList/…", "$setElementOrder/…") say what plain data cannot.
 */
import { isDeepStrictEqual } from 'node:util'
import type { ListSchema, Schema } from '../resources/schema.ts'
import type { JsonObject } from '../../api/json-reader.ts'
import { isJsonObject } from '../../api/json-reader.ts'
import { ownValue } from './json-object.ts'
import { PatchError } from './patch-error.ts'

const deletePrefix = '$deleteFromPrimitiveList/'
const orderPrefix = '$setElementOrder/'

export function applyStrategicMergePatch(current: unknown, patch: unknown, schema: Schema): unknown {
  if (!isJsonObject(patch)) throw new PatchError(400, 'a strategic merge patch must be a JSON object')
  return mergeObject(isJsonObject(current) ? current : {}, patch, schema)
}

function mergeObject(current: JsonObject, patch: JsonObject, schema: Schema | undefined): JsonObject {
  const directive = patch['$patch']
  if (directive === 'replace') return withoutDirectives(patch)
  if (directive === 'delete') return {}
  if (directive !== undefined && directive !== 'merge') throw unknownDirective(directive)
  const merged = new Map(Object.entries(retain(current, patch['$retainKeys'])))
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(deletePrefix)) {
      const field = key.slice(deletePrefix.length)
      merged.set(field, withoutValues(merged.get(field), value, key))
    } else if (!key.startsWith('$')) mergeField(merged, key, value, schemaOf(schema, key))
  }
  for (const [field, list] of merged) {
    const order = ownValue(patch, orderPrefix + field) ?? ownValue(patch, field)
    const before = ownValue(current, field)
    if (Array.isArray(list) && order !== undefined && order !== null)
      merged.set(field, ordered(list, order, Array.isArray(before) ? before : [], schemaOf(schema, field)))
  }
  checkOrders(patch, schema)
  return Object.fromEntries(merged)
}

function mergeField(merged: Map<string, unknown>, key: string, value: unknown, schema: Schema | undefined): void {
  const before = merged.get(key)
  if (value === null) merged.delete(key)
  else if (isJsonObject(value)) {
    if (value['$patch'] === 'delete') merged.delete(key)
    else merged.set(key, mergeObject(isJsonObject(before) ? before : {}, value, schema))
  } else if (Array.isArray(value)) merged.set(key, mergeList(Array.isArray(before) ? before : [], value, schema))
  else merged.set(key, value)
}

function mergeList(current: readonly unknown[], patch: readonly unknown[], schema: Schema | undefined): unknown[] {
  const plain = patch.filter((item) => !(isJsonObject(item) && item['$patch'] !== undefined && !hasData(item)))
  if (patch.some((item) => isJsonObject(item) && item['$patch'] === 'replace')) return plain.map(clean)
  if (schema?.type !== 'list' || schema.merge === 'replace') return patch.map(clean)
  if (schema.merge === 'set') return [...current, ...patch.filter((item) => !current.includes(item))]
  return mergeByKey(current, patch, schema, schema.merge.key)
}

function mergeByKey(
  current: readonly unknown[],
  patch: readonly unknown[],
  schema: ListSchema,
  key: string,
): unknown[] {
  let merged = [...current]
  for (const item of patch) {
    if (!isJsonObject(item) || ownValue(item, key) === undefined)
      throw new PatchError(400, `an item of the patched list lacks its merge key "${key}": ${JSON.stringify(item)}`)
    const isSame = (other: unknown): boolean =>
      isJsonObject(other) && isDeepStrictEqual(ownValue(other, key), item[key])
    const index = merged.findIndex(isSame)
    if (item['$patch'] === 'delete') merged = merged.filter((other) => !isSame(other))
    else if (index < 0) merged.push(mergeObject({}, item, schema.items))
    else merged[index] = mergeObject(merged[index] as JsonObject, item, schema.items)
  }
  return merged
}

/**
 * Items that the patch names are in its order and come before the server's other items, except those that the server
 * already had before them.
 */
function ordered(
  list: readonly unknown[],
  order: unknown,
  before: readonly unknown[],
  schema: Schema | undefined,
): unknown[] {
  if (!Array.isArray(order)) throw new PatchError(400, '"$setElementOrder" must be a list')
  if (schema?.type !== 'list' || schema.merge === 'replace') return [...list]
  const identity = identityBy(schema)
  const wanted = order.map(identity)
  const known = before.map(identity)
  const place = (item: unknown): number => wanted.indexOf(identity(item))
  const named = list.filter((item) => place(item) >= 0).toSorted((a, b) => place(a) - place(b))
  const others = list.filter((item) => place(item) < 0)
  const result: unknown[] = []
  while (named.length > 0 && others.length > 0) {
    const other = known.indexOf(identity(others[0]))
    const next = known.indexOf(identity(named[0]))
    result.push(other >= 0 && next >= 0 && other < next ? others.shift() : named.shift())
  }
  return [...result, ...others, ...named]
}

function checkOrders(patch: JsonObject, schema: Schema | undefined): void {
  for (const [key, order] of Object.entries(patch)) {
    if (!key.startsWith(orderPrefix)) continue
    if (!Array.isArray(order)) throw new PatchError(400, `"${key}" must be a list`)
    const field = key.slice(orderPrefix.length)
    const identity = identityBy(schemaOf(schema, field))
    const wanted = order.map(identity)
    const patched = ownValue(patch, field)
    if (Array.isArray(patched) && patched.some((item) => !isRemoval(item) && !wanted.includes(identity(item))))
      throw new PatchError(400, `"${key}" must name every item of the patched list`)
  }
}

function identityBy(schema: Schema | undefined): (item: unknown) => unknown {
  const key = schema?.type === 'list' && typeof schema.merge === 'object' ? schema.merge.key : undefined
  return (item) => (key !== undefined && isJsonObject(item) ? ownValue(item, key) : item)
}

function isRemoval(item: unknown): boolean {
  return isJsonObject(item) && item['$patch'] !== undefined
}

function retain(current: JsonObject, keys: unknown): JsonObject {
  if (keys === undefined) return current
  if (!Array.isArray(keys)) throw new PatchError(400, '"$retainKeys" must be a list of keys')
  return Object.fromEntries(Object.entries(current).filter(([key]) => keys.includes(key)))
}

function withoutValues(list: unknown, values: unknown, directive: string): unknown[] {
  if (!Array.isArray(values)) throw new PatchError(400, `"${directive}" must be a list of values`)
  return Array.isArray(list) ? list.filter((item) => !values.includes(item)) : []
}

function schemaOf(schema: Schema | undefined, key: string): Schema | undefined {
  if (schema?.type === 'map') return schema.values
  return schema?.type === 'object' && Object.hasOwn(schema.fields, key) ? schema.fields[key] : undefined
}

function hasData(item: JsonObject): boolean {
  return Object.keys(item).some((key) => !key.startsWith('$'))
}

/** New data as it is stored: without directives, and without nulls, which only remove. */
function clean(value: unknown): unknown {
  return isJsonObject(value) ? withoutDirectives(value) : value
}

function withoutDirectives(object: JsonObject): JsonObject {
  const kept = Object.entries(object).filter(([key, value]) => !key.startsWith('$') && value !== null)
  return Object.fromEntries(kept.map(([key, value]) => [key, clean(value)]))
}

function unknownDirective(directive: unknown): PatchError {
  return new PatchError(400, `unknown patch directive ${JSON.stringify(directive)}: use merge, replace or delete`)
}
