/** Keys of objects that came from JSON are data, `__proto__` included. */
import type { JsonObject } from '../../api/json-reader.ts'

/** Inherited keys do not count. */
export function ownValue(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

export function withKey(object: JsonObject, key: string, value: unknown): JsonObject {
  return Object.fromEntries([...Object.entries(object).filter(([other]) => other !== key), [key, value]])
}

export function withoutKey(object: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([other]) => other !== key))
}
