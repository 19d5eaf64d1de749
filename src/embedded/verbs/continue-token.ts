/** Where a paged list goes on: at which revision, after which key. Opaque to clients. */
import { badRequest } from '../status.ts'

export interface ContinueToken {
  /** `latest` once the snapshot is gone: the rest comes from the state of that moment. */
  readonly revision: number | 'latest'
  /** The last key that was returned. */
  readonly after: string
}

export function renderContinueToken(token: ContinueToken): string {
  return Buffer.from(JSON.stringify({ revision: token.revision, after: token.after })).toString('base64url')
}

export function parseContinueToken(text: string): ContinueToken {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    if (isContinueToken(parsed)) return parsed
  } catch {
    // Not JSON: the same answer as for JSON of another shape.
  }
  throw badRequest('continue key is not valid: pass the value of metadata.continue unchanged')
}

function isContinueToken(value: unknown): value is ContinueToken {
  if (typeof value !== 'object' || value === null) return false
  const { revision, after } = value as Record<string, unknown>
  return (revision === 'latest' || Number.isSafeInteger(revision)) && typeof after === 'string'
}
