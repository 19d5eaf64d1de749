/** Structural equality of plain data (records, routes): objects, lists, strings, numbers, booleans, undefined. */
export function isSameData(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (Array.isArray(left)) return Array.isArray(right) && isSameList(left, right)
  if (Array.isArray(right)) return false
  const leftEntries = Object.entries(left)
  if (leftEntries.length !== Object.keys(right).length) return false
  const other = right as Readonly<Record<string, unknown>>
  return leftEntries.every(([name, value]) => name in other && isSameData(value, other[name]))
}

function isSameList(left: readonly unknown[], right: readonly unknown[]): boolean {
  return left.length === right.length && left.every((item, index) => isSameData(item, right[index]))
}
