import type { AttributeValue, SpanAttributes } from '../../core/trace.ts'

/** Adds those that have a value. */
export function addAttributes(to: Record<string, AttributeValue>, attributes: SpanAttributes): void {
  for (const name in attributes) {
    const value = attributes[name]
    if (value !== undefined) to[name] = value
  }
}

export interface Failure {
  readonly message: string
  /** Few and constant, so that failures can be counted by it. */
  readonly type: string
}

export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { message: String(error), type: 'error' }
  const reason = (error as { readonly reason?: unknown }).reason
  return { message: error.message, type: typeof reason === 'string' ? reason : error.name }
}
