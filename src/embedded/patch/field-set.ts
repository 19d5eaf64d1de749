/**
 * A set of field paths, as a tree. Each edge is a path element in the notation of FieldsV1: `f:name` for a field or
 * map key, `k:{"port":80,"protocol":"TCP"}` for an item of a keyed list, `v:"x"` for a value of a set.
 */
import type { JsonObject } from '../../api/json-reader.ts'
import { isJsonObject } from '../../api/json-reader.ts'

export interface FieldSet {
  /** Whether the path to this node is itself in the set. */
  readonly isMember: boolean
  readonly children: ReadonlyMap<string, FieldSet>
}

export const emptySet: FieldSet = { isMember: false, children: new Map() }

export const leaf: FieldSet = { isMember: true, children: new Map() }

export function isEmpty(set: FieldSet): boolean {
  return !set.isMember && set.children.size === 0
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  const children = new Map(a.children)
  for (const [element, child] of b.children) children.set(element, union(children.get(element) ?? emptySet, child))
  return { isMember: a.isMember || b.isMember, children }
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, (inA, inB) => inA && inB)
}

export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, (inA, inB) => inA && !inB)
}

/** `a` without the paths of `b` and without everything below them. */
export function withoutSubtrees(a: FieldSet, b: FieldSet): FieldSet {
  if (b.isMember) return emptySet
  const children = [...a.children].map(([element, child]) => {
    const other = b.children.get(element)
    return [element, other === undefined ? child : withoutSubtrees(child, other)] as const
  })
  return { isMember: a.isMember, children: new Map(children.filter(([, child]) => !isEmpty(child))) }
}

export function equalSets(a: FieldSet, b: FieldSet): boolean {
  return isEmpty(difference(a, b)) && isEmpty(difference(b, a))
}

/** A set with one path. */
export function singlePath(...elements: readonly string[]): FieldSet {
  return elements.reduceRight<FieldSet>(
    (child, element) => ({ isMember: false, children: new Map([[element, child]]) }),
    leaf,
  )
}

/** For people: `.spec.ports[port=80,protocol="TCP"].targetPort`, sorted. */
export function renderPaths(set: FieldSet, prefix = ''): string[] {
  const own = set.isMember ? [prefix] : []
  return [
    ...own,
    ...[...set.children].flatMap(([element, child]) => renderPaths(child, prefix + renderElement(element))),
  ].sort()
}

export function toFieldsV1(set: FieldSet): JsonObject {
  const own = set.isMember && set.children.size > 0 ? [['.', {}] as const] : []
  const children = [...set.children].sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries([...own, ...children.map(([element, child]) => [element, toFieldsV1(child)] as const)])
}

/** Reads what toFieldsV1 wrote. Elements that are not valid are ignored. */
export function fromFieldsV1(fields: unknown): FieldSet {
  if (!isJsonObject(fields)) return emptySet
  const entries = Object.entries(fields).filter(([element]) => /^[fkvi]:/.test(element))
  const children = new Map(entries.map(([element, child]) => [canonical(element), parseChild(child)]))
  return { isMember: '.' in fields, children }
}

function parseChild(fields: unknown): FieldSet {
  const set = fromFieldsV1(fields)
  return set.children.size === 0 ? leaf : set
}

/** A key whose fields are in another order is the same element. */
function canonical(element: string): string {
  if (!element.startsWith('k:')) return element
  const key = parseJson(element.slice(2))
  return isJsonObject(key) ? keyElement(key) : element
}

export function fieldElement(name: string): string {
  return `f:${name}`
}

export function keyElement(key: JsonObject): string {
  return `k:${JSON.stringify(Object.fromEntries(Object.entries(key).sort(([a], [b]) => (a < b ? -1 : 1))))}`
}

export function valueElement(value: unknown): string {
  return `v:${JSON.stringify(value)}`
}

function renderElement(element: string): string {
  const text = element.slice(2)
  if (element.startsWith('f:')) return `.${text}`
  const value = parseJson(text)
  if (!isJsonObject(value)) return `[=${text}]`
  return `[${Object.entries(value)
    .map(([key, inner]) => `${key}=${JSON.stringify(inner)}`)
    .join(',')}]`
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function combine(a: FieldSet, b: FieldSet, keep: (inA: boolean, inB: boolean) => boolean): FieldSet {
  const children = new Map<string, FieldSet>()
  for (const [element, child] of a.children) {
    const combined = combine(child, b.children.get(element) ?? emptySet, keep)
    if (!isEmpty(combined)) children.set(element, combined)
  }
  return { isMember: keep(a.isMember, b.isMember), children }
}
