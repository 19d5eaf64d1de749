import { findAttribute, readText } from '../attribute.ts'
import type { Slice } from '../attribute.ts'

/** The text that an attribute holds; undefined when there is no such attribute. */
export function textIn(list: Slice, type: number): string | undefined {
  const found = findAttribute(list, type)
  return found && readText(found)
}
