/** Structural equality of plain data (records, routes): objects, lists, strings, numbers, booleans, undefined. */
export function isSameData(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (Array.isArray(left)) return Array.isArray(right) && isSameList(left, right, isSameData)
  return !Array.isArray(right) && isSameRecord(left as Fields, right as Fields, everyField)
}

type Fields = Readonly<Record<string, unknown>>

type FieldRule<V> = (left: NonNullable<V>, right: NonNullable<V>) => boolean

/** How to compare fields that need not be the same throughout, by name. */
export type FieldRules<T> = { readonly [K in keyof T]?: FieldRule<T[K]> }

const everyField: FieldRules<Fields> = {}

/**
 * Compares all fields, each by its rule if it has one. Every event runs through here, so it makes no lists of names: `in` goes
 * through those that the engine has for objects of the same shape.
 */
export function isSameRecord<T extends object>(left: T, right: T, rules: FieldRules<T>): boolean {
  let names = 0
  for (const name in left) {
    if (!(name in right)) return false
    const one = left[name]
    const other = right[name]
    if (one !== other && !isSameField(one, other, rules[name])) return false
    names++
  }
  for (const _name in right) names--
  return names === 0
}

function isSameField<V>(left: V, right: V, rule: FieldRule<V> | undefined): boolean {
  return rule === undefined || left == null || right == null ? isSameData(left, right) : rule(left, right)
}

export function isSameList<T>(
  left: readonly T[],
  right: readonly T[],
  isSame: (left: T, right: T) => boolean,
): boolean {
  if (left.length !== right.length) return false
  for (let index = 0; index < left.length; index++) if (!isSame(left[index]!, right[index]!)) return false
  return true
}
