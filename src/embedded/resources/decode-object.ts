/**
 * Turns a request body, which can be anything, into an object of its kind. Wrong JSON types are refused, as a typed
 * server would; fields that the kind does not have are dropped and reported.
 */
import type { ApiObject, ResourceType } from '../resource.ts'
import type { ObjectSchema, Schema } from './schema.ts'

export type Decoded =
  | {
      readonly ok: true
      readonly object: ApiObject
      /** `unknown field "spec.foo"`, ready for a warning or a strict decoding error. */
      readonly unknownFields: readonly string[]
    }
  | { readonly ok: false; readonly message: string }

export function decodeObject(
  body: unknown,
  resource: Pick<ResourceType, 'group' | 'version' | 'kind' | 'schema'>,
): Decoded {
  const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`
  const cannot = `${resource.kind} in version "${resource.version}" cannot be handled as a ${resource.kind}`
  if (!isObject(body)) return { ok: false, message: `${cannot}: the body must be a JSON object` }
  for (const [field, expected] of [
    ['apiVersion', apiVersion],
    ['kind', resource.kind],
  ] as const) {
    if (body[field] !== undefined && body[field] !== '' && body[field] !== expected)
      return {
        ok: false,
        message: `the ${field} in the data (${JSON.stringify(body[field])}) does not match the expected ${field} (${JSON.stringify(expected)})`,
      }
  }
  const unknownFields: string[] = []
  try {
    const shaped = shape(body, resource.schema, '', unknownFields) as Record<string, unknown>
    const metadata = isObject(shaped['metadata']) ? shaped['metadata'] : {}
    const object = { ...shaped, apiVersion, kind: resource.kind, metadata } as unknown as ApiObject
    return { ok: true, object, unknownFields }
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error
    return { ok: false, message: `${cannot}: ${error.message}` }
  }
}

class ShapeError extends Error {
  override readonly name = 'ShapeError'
}

function shape(value: unknown, schema: Schema, path: string, unknownFields: string[]): unknown {
  // Go reads null as the zero value and does not write empty lists and maps, so all of them mean absent.
  if (value === null) return undefined
  if ('isZeroAbsent' in schema && (value === 0 || value === false)) return undefined
  switch (schema.type) {
    case 'object': {
      if (!isObject(value)) throw mismatch(value, 'an object', path)
      const result: Record<string, unknown> = {}
      for (const [key, inner] of Object.entries(value)) {
        const at = path === '' ? key : `${path}.${key}`
        const fieldSchema = Object.hasOwn(schema.fields, key) ? schema.fields[key] : undefined
        if (fieldSchema === undefined) unknownFields.push(`unknown field ${JSON.stringify(at)}`)
        else assign(result, key, shape(inner, fieldSchema, at, unknownFields) ?? emptyIfRequired(inner, key, schema))
      }
      return result
    }
    case 'map': {
      if (!isObject(value)) throw mismatch(value, 'an object', path)
      const result: Record<string, unknown> = {}
      for (const [key, inner] of Object.entries(value))
        assign(result, key, shape(inner, schema.values, `${path}.${key}`, unknownFields) ?? zeroOf(schema.values))
      return Object.keys(result).length === 0 ? undefined : result
    }
    case 'list':
      if (!Array.isArray(value)) throw mismatch(value, 'a list', path)
      if (value.length === 0) return undefined
      return value.map(
        (item, index) => shape(item, schema.items, `${path}[${index}]`, unknownFields) ?? zeroOf(schema.items),
      )
    case 'integer':
      if (typeof value !== 'number' || !fits(value, schema.format))
        throw mismatch(value, `an ${schema.format ?? 'integer'}`, path)
      return value
    case 'boolean':
      if (typeof value !== 'boolean') throw mismatch(value, 'a boolean', path)
      return value
    case 'int-or-string':
      if (typeof value !== 'string' && !(typeof value === 'number' && fits(value, 'int32')))
        throw mismatch(value, 'a string or an int32', path)
      return value
    case 'quantity':
      if (typeof value !== 'string' && typeof value !== 'number') throw mismatch(value, 'a quantity', path)
      return String(value)
    case 'time':
    case 'micro-time':
      if (typeof value !== 'string' || Number.isNaN(Date.parse(value))) throw mismatch(value, 'an RFC 3339 time', path)
      return value
    case 'string':
      if (typeof value !== 'string') throw mismatch(value, 'a string', path)
      return value
    case 'any':
      return value
    default:
      return schema satisfies never
  }
}

/** A required list is present even if it is empty. */
function emptyIfRequired(value: unknown, key: string, parent: ObjectSchema): unknown {
  return Array.isArray(value) && parent.required.includes(key) ? [] : undefined
}

/** A plain assignment to `__proto__` would change the prototype. */
function assign(target: Record<string, unknown>, key: string, value: unknown): void {
  if (value === undefined) return
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true })
}

function zeroOf(schema: Schema): unknown {
  if (schema.type === 'object' || schema.type === 'map') return {}
  return schema.type === 'list' ? [] : schema.type === 'integer' ? 0 : schema.type === 'boolean' ? false : ''
}

function fits(value: number, format: 'int32' | 'int64' | undefined): boolean {
  if (!Number.isInteger(value)) return false
  return format === 'int32' ? value >= -2147483648 && value <= 2147483647 : Number.isSafeInteger(value)
}

function mismatch(value: unknown, expected: string, path: string): ShapeError {
  const actual = Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : JSON.stringify(value)
  return new ShapeError(`json: cannot unmarshal ${actual} into field ${path} of type ${expected}`)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
