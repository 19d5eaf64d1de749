import { isMap, isScalar, isSeq, type Node } from 'yaml'
import { parseGoDuration } from '../../net/go-duration.ts'
import { nearestName } from '../../net/nearest-name.ts'
import { isTooLargeQuantity, parseQuantity, type Quantity } from '../quantity.ts'
import { shortened, shownValue } from '../../net/shown-value.ts'

/**
 * What a field of a configuration file may contain. Decoding uses the YAML nodes, not plain values, because only the
 * nodes know the line of a problem and still have duplicate keys.
 */
export interface Schema<Value> {
  /** The value if the field is missing or null. */
  readonly absent: Value
  decode(node: Node, place: Place): Value
}

export interface ObjectSchema<Value> extends Schema<Value> {
  readonly fields: Fields
}

export type Fields = Readonly<Record<string, Schema<unknown>>>

/** What kube-proxy does with a value that Fairlead refuses: the same, or it warns and ignores it, or it takes it. */
export type InKubeProxy = 'refused' | 'ignored' | 'accepted'

/** Where in the file the decoder is, and where it reports problems. */
export interface Place {
  readonly path: string
  inside(name: string): Place
  /** About the field of this place. */
  report(node: Node, problem: string, inKubeProxy?: InKubeProxy): void
  lineOf(node: Node): number
  /** What a node stands for: itself, or the target of a YAML alias (`*name`). */
  resolve(node: Node): Node
}

type Decoded<Of extends Fields> = {
  readonly [Name in keyof Of]: Of[Name] extends Schema<infer Value> ? Value : never
}

export const text: Schema<string | undefined> = scalar('a string', (value) =>
  typeof value === 'string' ? value : undefined,
)

export const bool: Schema<boolean | undefined> = scalar('true or false', (value) =>
  typeof value === 'boolean' ? value : undefined,
)

export const int32: Schema<number | undefined> = wholeNumber(-(2 ** 31), 2 ** 31 - 1)

export const uint32: Schema<number | undefined> = wholeNumber(0, 2 ** 32 - 1)

export const float: Schema<number | undefined> = scalar('a number', (value) =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined,
)

/** Milliseconds. The file must have a string, because a bare 5 could mean anything. */
export const duration: Schema<number | undefined> = scalar('a duration in quotes, such as "30s" or "1h30m"', (value) =>
  typeof value === 'string' ? parseGoDuration(value) : undefined,
)

const anyQuantity = scalar('a size, such as 512 or 2Ki', (value) =>
  typeof value === 'string' || typeof value === 'number' ? parseQuantity(String(value)) : undefined,
)

export const quantity: Schema<Quantity | undefined> = {
  absent: undefined,
  decode(node, place) {
    if (!isScalar(node) || !isTooLargeQuantity(String(node.value))) return anyQuantity.decode(node, place)
    place.report(node, `${place.path}: expected a size of at most 8Pi, got ${renderFound(node)}`, 'accepted')
    return undefined
  },
}

export function listOf<Item>(item: Schema<Item>): Schema<readonly NonNullable<Item>[]> {
  return {
    absent: [],
    decode(node, place) {
      if (!isSeq<Node>(node)) {
        place.report(node, `${place.path}: expected a list`)
        return []
      }
      return node.items
        .map((entry, index) => item.decode(place.resolve(entry), place.inside(`[${index}]`)))
        .filter((value) => value !== undefined && value !== null)
    },
  }
}

export const boolByName: Schema<Readonly<Record<string, boolean>>> = {
  absent: {},
  decode(node, place) {
    const entries = entriesOf(node, place).map(([name, value]) => [
      name,
      bool.decode(value, place.inside(name)) ?? false,
    ])
    return Object.fromEntries(entries) as Record<string, boolean>
  },
}

export function object<Of extends Fields>(fields: Of): ObjectSchema<Decoded<Of>> {
  const absent = Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, schema.absent]))
  return {
    fields,
    absent: absent as Decoded<Of>,
    decode(node, place) {
      const values = { ...absent }
      for (const [name, value, key] of entriesOf(node, place)) {
        const schema = Object.hasOwn(fields, name) ? fields[name] : undefined
        if (schema === undefined) place.inside(name).report(key, unknownField(name, place, fields), 'ignored')
        else if (!isNull(value)) values[name] = schema.decode(value, place.inside(name))
      }
      return values as Decoded<Of>
    },
  }
}

/** A number is decoded one way, everything else the other. */
export function numberOr<Numeric, Other>(numeric: Schema<Numeric>, other: Schema<Other>): Schema<Numeric | Other> {
  return {
    absent: other.absent,
    decode: (node, place) =>
      isScalar(node) && typeof node.value === 'number' ? numeric.decode(node, place) : other.decode(node, place),
  }
}

export function scalar<Value>(
  expected: string,
  read: (value: unknown) => Value | undefined,
): Schema<Value | undefined> {
  return {
    absent: undefined,
    decode(node, place) {
      const value = isScalar(node) ? read(node.value) : undefined
      if (value === undefined) place.report(node, `${place.path}: expected ${expected}, got ${renderFound(node)}`)
      return value
    },
  }
}

function wholeNumber(smallest: number, largest: number): Schema<number | undefined> {
  return scalar(`a whole number between ${smallest} and ${largest}`, (value) =>
    Number.isInteger(value) && Number(value) >= smallest && Number(value) <= largest ? Number(value) : undefined,
  )
}

type Entry = [name: string, value: Node, key: Node]

/** Reports each duplicate name. */
function entriesOf(node: Node, place: Place): Entry[] {
  if (!isMap<Node, Node>(node)) {
    place.report(
      node,
      `${place.path === '' ? 'the document' : place.path}: expected an object, got ${renderFound(node)}`,
    )
    return []
  }
  const keysByName = new Map<string, Node>()
  const entries: Entry[] = []
  for (const { key, value } of node.items) {
    const name = isScalar(key) ? String(key.value) : ''
    const first = keysByName.get(name)
    if (first !== undefined)
      place
        .inside(name)
        .report(
          key,
          `duplicate field "${place.inside(name).path}", first set on line ${place.lineOf(first)}: remove one`,
          'ignored',
        )
    else keysByName.set(name, key)
    if (value !== null) entries.push([name, place.resolve(value), key])
  }
  return entries
}

/**
 * Fields that kube-proxy once had, and that files of old clusters still contain. Each has its own advice, because the
 * suggestion of a similar name would be misleading.
 */
const formerFields: ReadonlyMap<string, string> = new Map([
  ['udpIdleTimeout', 'remove it'],
  ['resourceContainer', 'remove it'],
  ['conntrack.max', 'remove it, and set conntrack.maxPerCore and conntrack.min instead'],
])

function unknownField(name: string, place: Place, fields: Fields): string {
  const { path } = place.inside(name)
  const wayOut = formerFields.get(path)
  if (wayOut !== undefined)
    return `field "${path}" is of an older kube-proxy, and nothing looks at it any more: ${wayOut}`
  const nearest = nearestName(name, Object.keys(fields))
  const hint = nearest === undefined ? '' : `, did you mean "${place.inside(nearest).path}"?`
  return `unknown field "${shortened(path)}"${hint}`
}

function isNull(node: Node): boolean {
  return isScalar(node) && node.value === null
}

function renderFound(node: Node): string {
  if (isScalar(node)) return shownValue(node.value)
  return isSeq(node) ? 'a list' : 'an object'
}
