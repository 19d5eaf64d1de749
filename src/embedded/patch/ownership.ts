/** Which fields a configuration sets, and which fields differ between two versions of an object. */
import { isDeepStrictEqual } from 'node:util'
import type { Schema } from '../resources/schema.ts'
import type { FieldSet } from './field-set.ts'
import { emptySet, isEmpty, leaf } from './field-set.ts'
import { childrenOf, isListItem } from './typed-children.ts'

export function fieldsSetBy(value: unknown, schema: Schema | undefined): FieldSet {
  const children = childrenOf(value, schema)
  if (children === undefined || children.size === 0) return leaf
  const owned = new Map<string, FieldSet>()
  for (const [element, child] of children) {
    owned.set(element, withMember(fieldsSetBy(child.value, child.schema), isListItem(element)))
  }
  return { isMember: false, children: owned }
}

export interface Comparison {
  readonly added: FieldSet
  readonly modified: FieldSet
  readonly removed: FieldSet
}

export function compare(before: unknown, after: unknown, schema: Schema | undefined): Comparison {
  if (before === undefined && after === undefined) return nothing
  if (before === undefined) return { ...nothing, added: everythingIn(after, schema) }
  if (after === undefined) return { ...nothing, removed: everythingIn(before, schema) }
  const childrenBefore = childrenOf(before, schema)
  const childrenAfter = childrenOf(after, schema)
  if (childrenBefore === undefined || childrenAfter === undefined)
    return isDeepStrictEqual(before, after) ? nothing : { ...nothing, modified: leaf }
  const added = new Map<string, FieldSet>()
  const modified = new Map<string, FieldSet>()
  const removed = new Map<string, FieldSet>()
  for (const element of new Set([...childrenBefore.keys(), ...childrenAfter.keys()])) {
    const was = childrenBefore.get(element)
    const is = childrenAfter.get(element)
    const inner = compare(was?.value, is?.value, (was ?? is)?.schema)
    const isItem = isListItem(element)
    if (!isEmpty(inner.added)) added.set(element, withMember(inner.added, isItem && was === undefined))
    if (!isEmpty(inner.modified)) modified.set(element, inner.modified)
    if (!isEmpty(inner.removed)) removed.set(element, withMember(inner.removed, isItem && is === undefined))
  }
  return { added: inside(added), modified: inside(modified), removed: inside(removed) }
}

/** For a value that is new or gone: its leaves, and the maps, lists and list items around them. */
function everythingIn(value: unknown, schema: Schema | undefined): FieldSet {
  const children = childrenOf(value, schema)
  if (children === undefined || children.size === 0) return leaf
  const owned = new Map<string, FieldSet>()
  for (const [element, child] of children) {
    owned.set(element, withMember(everythingIn(child.value, child.schema), isListItem(element)))
  }
  const isPartOfParent = schema?.type === 'object' && schema.isPointer === undefined
  return { isMember: !isPartOfParent, children: owned }
}

const nothing: Comparison = { added: emptySet, modified: emptySet, removed: emptySet }

/** A list item itself is owned, besides its fields: its creator may remove it. */
function withMember(set: FieldSet, isMember: boolean): FieldSet {
  return isMember ? { ...set, isMember } : set
}

function inside(children: ReadonlyMap<string, FieldSet>): FieldSet {
  return { isMember: false, children }
}
