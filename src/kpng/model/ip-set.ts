import type { IPSet } from '../proto/generated/localv1/api.ts'
import { familyOf, parseIp } from '../../net/ip.ts'
import { compareBytes } from '../wire/byte-order.ts'

export const noIps: IPSet = { V4: [], V6: [] }

/** Splits addresses by family, sorted and without duplicates. What is not an address is left out. */
export function ipSet(addresses: Iterable<string>): IPSet {
  const ips = new Set<string>()
  for (const address of addresses) {
    const ip = parseIp(address)
    if (ip !== undefined) ips.add(ip)
  }
  const sorted = [...ips].sort(compareBytes)
  return {
    V4: sorted.filter((ip) => familyOf(ip) === 'ipv4'),
    V6: sorted.filter((ip) => familyOf(ip) === 'ipv6'),
  }
}
