import { cidrContains, parseCidr } from './ip.ts'
import type { Cidr } from './ip.ts'

/**
 * The same addresses without ranges that are inside others, because some data planes refuse overlaps. Sorted,
 * canonical.
 */
export function disjointCidrs(texts: readonly string[]): readonly string[] {
  const cidrs = texts.flatMap((text) => {
    const cidr = parseCidr(text)
    return cidr === undefined ? [] : [{ text, cidr }]
  })
  const isCovered = ({ cidr }: { cidr: Cidr }, index: number) =>
    cidrs.some(
      (other, at) =>
        cidrContains(other.cidr, cidr.network) &&
        // Of two equal ones, the first stays.
        (other.cidr.prefixLength < cidr.prefixLength || (other.cidr.prefixLength === cidr.prefixLength && at < index)),
    )
  return cidrs
    .filter((entry, index) => !isCovered(entry, index))
    .map(({ text }) => text)
    .sort()
}
