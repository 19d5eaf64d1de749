/** Field errors with Kubernetes' messages, which people search for and tools match. */
import type { FieldError } from '../resource.ts'

export function invalid(field: string, value: unknown, detail: string): FieldError {
  return { field, reason: 'FieldValueInvalid', message: `Invalid value: ${render(value)}: ${detail}` }
}

export function required(field: string, detail = ''): FieldError {
  return {
    field,
    reason: 'FieldValueRequired',
    message: detail === '' ? 'Required value' : `Required value: ${detail}`,
  }
}

export function forbidden(field: string, detail: string): FieldError {
  return { field, reason: 'FieldValueForbidden', message: `Forbidden: ${detail}` }
}

export function duplicate(field: string, value: unknown): FieldError {
  return { field, reason: 'FieldValueDuplicate', message: `Duplicate value: ${render(value)}` }
}

export function notSupported(field: string, value: unknown, supported: readonly string[]): FieldError {
  const list = [...supported].sort().map((one) => JSON.stringify(one))
  const message = `Unsupported value: ${render(value)}: supported values: ${list.join(', ')}`
  return { field, reason: 'FieldValueNotSupported', message }
}

export function tooMany(field: string, actual: number, limit: number): FieldError {
  const items = limit === 1 ? 'item' : 'items'
  return {
    field,
    reason: 'FieldValueTooMany',
    message: `Too many: ${actual}: must have at most ${limit} ${items}`,
  }
}

export function tooLong(field: string, limit: number): FieldError {
  return { field, reason: 'FieldValueTooLong', message: `Too long: may not be more than ${limit} bytes` }
}

function render(value: unknown): string {
  return value === undefined ? 'null' : JSON.stringify(value)
}
