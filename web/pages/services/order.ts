/** In which order Services stand. Equal ones stand by name, so that the order is the same each time. */
import type { ServiceRow } from '../../../src/observe/console/wire.ts'
import type { Column, Sort } from './question.ts'

export interface Sortable {
  readonly row: ServiceRow
  readonly namespace: string
  readonly name: string
}

/** What a column is sorted by. Two of the same column are both numbers or both text. */
export const sortValue: Readonly<Record<Column, (entry: Sortable) => string | number>> = {
  name: ({ name }) => name,
  namespace: ({ namespace }) => namespace,
  type: ({ row }) => row.type,
  ip: ({ row }) => sortableIp(row.clusterIPs[0] ?? ''),
  ports: ({ row }) => row.ports[0]?.port ?? 0,
  endpoints: ({ row }) => row.endpoints.used,
  rate: ({ row }) => row.traffic?.connectionRate ?? -1,
  bytes: ({ row }) => row.traffic?.byteRate ?? -1,
  // Problems before policies before nothing, when the greatest come first.
  notes: ({ row: { problem, policies = [] } }) => (problem === undefined ? policies.join(' ') : `~${problem}`),
}

/** Sorted copies. Each value is asked for once: of addresses it is not cheap. */
export function sorted<Entry extends Sortable>(entries: readonly Entry[], { column, isDescending }: Sort): Entry[] {
  const valueOf = sortValue[column]
  const sign = isDescending ? -1 : 1
  return entries
    .map((entry) => ({ entry, value: valueOf(entry) }))
    .sort((a, b) => sign * compare(a.value, b.value) || compareKeys(a.entry, b.entry))
    .map(({ entry }) => entry)
}

/** Where one belongs in an order that may be a little old. */
export function placeOf(entry: Sortable, among: readonly Sortable[], { column, isDescending }: Sort): number {
  const valueOf = sortValue[column]
  const sign = isDescending ? -1 : 1
  const value = valueOf(entry)
  let low = 0
  let high = among.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const other = among[middle]
    if (other === undefined) break
    const isBefore = (sign * compare(valueOf(other), value) || compareKeys(other, entry)) < 0
    if (isBefore) low = middle + 1
    else high = middle
  }
  return low
}

/** As text that sorts as the number does; IPv4 before IPv6, and both before `None`. */
function sortableIp(ip: string): string {
  if (/^\d+(\.\d+){3}$/.test(ip))
    return `4${ip
      .split('.')
      .map((part) => part.padStart(3, '0'))
      .join('')}`
  if (!ip.includes(':')) return `9${ip}`
  const [head = '', tail] = ip.toLowerCase().split('::')
  const groups = (text: string) => text.split(':').filter(Boolean)
  const before = groups(head)
  const after = tail === undefined ? [] : groups(tail)
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0')
  return `6${[...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join('')}`
}

function compare(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function compareKeys(a: Sortable, b: Sortable): number {
  return compare(a.name, b.name) || compare(a.namespace, b.namespace)
}
