import { parseObject } from '../parse.ts'
import type { ObjectKind } from '../records.ts'

export function problemsOf(kind: ObjectKind, raw: unknown): string[] {
  return parseObject(kind, raw).problems.map(({ field, reason }) => `${field}: ${reason}`)
}
