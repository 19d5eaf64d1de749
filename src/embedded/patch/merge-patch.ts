/** RFC 7386: objects merge, null removes, everything else replaces. */
import { isJsonObject } from '../../api/json-reader.ts'

export function applyMergePatch(current: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch
  const merged = new Map(isJsonObject(current) ? Object.entries(current) : [])
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key)
    else merged.set(key, applyMergePatch(merged.get(key), value))
  }
  return Object.fromEntries(merged)
}
