/**
 * Orders paths by their UTF-8 bytes, as the protocol requires. JavaScript compares UTF-16 units, which gives the same
 * order unless a character beyond U+FFFF is compared with one from U+E000 up. Such names are rare, but must not break
 * the order.
 */
export function compareBytes(left: string, right: string): number {
  if (left === right) return 0
  if (surrogate.test(left) || surrogate.test(right)) return Buffer.compare(Buffer.from(left), Buffer.from(right))
  return left < right ? -1 : 1
}

const surrogate = /[\ud800-\udfff]/
