/** The two orders in which the wire wants what belongs to Services. */
import { compareBytes } from '../wire/byte-order.ts'

export interface PathOrder {
  /** Services themselves, ascending. */
  readonly paths: readonly string[]
  /** The same, by where the paths of their endpoints come: `a-b/x` before `a/x`, although `a` before `a-b`. */
  readonly prefixes: readonly string[]
}

export function pathOrder(paths: Iterable<string>): PathOrder {
  const sorted = [...paths].sort(compareBytes)
  return { paths: sorted, prefixes: sorted.toSorted((left, right) => compareBytes(`${left}/`, `${right}/`)) }
}
