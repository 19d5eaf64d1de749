/** The two orders in which Services and their endpoints have to be sent. */
import { compareBytes } from '../wire/byte-order.ts'

export interface PathOrder {
  /** The Services themselves, ascending. */
  readonly paths: readonly string[]
  /**
   * The same Services, ordered by the paths of their endpoints: `a-b/x` comes before `a/x`, although `a` comes before
   * `a-b`.
   */
  readonly prefixes: readonly string[]
}

export function pathOrder(paths: Iterable<string>): PathOrder {
  const sorted = [...paths].sort(compareBytes)
  return { paths: sorted, prefixes: sorted.toSorted((left, right) => compareBytes(`${left}/`, `${right}/`)) }
}
