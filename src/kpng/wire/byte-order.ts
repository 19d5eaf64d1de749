/**
 * Orders paths by their UTF-8 bytes, as the wire wants it. JavaScript compares UTF-16 units, which is the same order
 * except where a character beyond U+FFFF meets one from U+E000 up; such names are rare, but must not break the order.
 */
export function compareBytes(left: string, right: string): number {
  if (left === right) return 0
  if (surrogate.test(left) || surrogate.test(right)) return Buffer.compare(Buffer.from(left), Buffer.from(right))
  return left < right ? -1 : 1
}

const surrogate = /[\ud800-\udfff]/
