/**
 * Reduces the value of a field to the few forms that both formats print. Anything may be logged, so nothing here
 * throws: a log line must never make something fail.
 */

export type LogValue =
  | { readonly kind: 'text'; readonly text: string }
  /** Printed as it is: numbers, booleans, null. */
  | { readonly kind: 'bare'; readonly text: string }
  /** A reference to an API object: `"ns/name"` in text, an object in JSON. */
  | { readonly kind: 'reference'; readonly namespace: string; readonly name: string }
  | { readonly kind: 'json'; readonly json: string }

/** Fields without a value are left out. */
export function logValue(value: unknown): LogValue | undefined {
  switch (typeof value) {
    case 'undefined':
      return undefined
    case 'string':
      return { kind: 'text', text: value }
    case 'number':
      return Number.isFinite(value) ? { kind: 'bare', text: String(value) } : { kind: 'text', text: String(value) }
    case 'boolean':
    case 'bigint':
      return { kind: 'bare', text: String(value) }
    case 'object':
      return value === null ? { kind: 'bare', text: 'null' } : objectValue(value)
    case 'symbol':
    case 'function':
    default:
      return { kind: 'text', text: String(value) }
  }
}

function objectValue(value: object): LogValue {
  if (value instanceof Error) return { kind: 'text', text: errorText(value) }
  if (value instanceof Date && !Number.isNaN(value.getTime())) return { kind: 'text', text: value.toISOString() }
  if (isReference(value)) return { kind: 'reference', namespace: value.namespace ?? '', name: value.name }
  try {
    return { kind: 'json', json: JSON.stringify(value, plain) }
  } catch (error) {
    return { kind: 'text', text: `<not printable: ${error instanceof Error ? error.message : String(error)}>` }
  }
}

/** Exactly a name, or a namespace and a name. Larger objects are printed whole. */
function isReference(value: object): value is { readonly namespace?: string; readonly name: string } {
  if (!('name' in value) || typeof value.name !== 'string') return false
  const others = Object.keys(value).filter((key) => key !== 'name')
  if (others.length === 0) return true
  return others.length === 1 && 'namespace' in value && typeof value.namespace === 'string'
}

function plain(_key: string, value: unknown): unknown {
  if (value instanceof Error) return errorText(value)
  if (value instanceof Map) return Object.fromEntries(value)
  if (value instanceof Set) return [...value]
  return typeof value === 'bigint' ? value.toString() : value
}

/** An error and its causes on one line: `cannot list services: connect ECONNREFUSED 127.0.0.1:6443`. */
function errorText(error: Error): string {
  let text = ownText(error)
  for (let { cause } = error; cause instanceof Error; cause = cause.cause) {
    const own = ownText(cause)
    // Many messages already repeat their cause.
    if (!text.includes(own)) text += `: ${own}`
  }
  return text
}

function ownText(error: Error): string {
  // Node's AggregateError of a failed connect has an empty message; the reasons are inside.
  if (error instanceof AggregateError && error.message === '') {
    return `[${error.errors.map((inner) => (inner instanceof Error ? errorText(inner) : String(inner))).join(', ')}]`
  }
  return error.message === '' ? error.name : error.message
}
