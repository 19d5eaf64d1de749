import { familyOf, ipToBigInt, parseCidr, parseIp } from '../../../net/ip.ts'
import type { AddressRange } from './rule.ts'

/** `10.0.0.0/8`, `10.0.0.1` or `10.0.0.1-10.0.0.9`; undefined for anything else, such as a name. */
export function parseAddressRange(text: string): AddressRange | undefined {
  const [from = '', to] = text.split('-')
  if (to !== undefined) {
    const [first, last] = [parseIp(from), parseIp(to)]
    if (first === undefined || last === undefined) return undefined
    return { family: familyOf(first), first: ipToBigInt(first), last: ipToBigInt(last) }
  }
  const family = text.includes(':') ? 'ipv6' : 'ipv4'
  const cidr = parseCidr(text.includes('/') ? text : `${text}/${family === 'ipv6' ? 128 : 32}`)
  if (cidr === undefined) return undefined
  const [address = ''] = text.split('/')
  const hostBits = BigInt((family === 'ipv6' ? 128 : 32) - cidr.prefixLength)
  const ip = parseIp(address)
  if (ip === undefined) return undefined
  const first = (ipToBigInt(ip) >> hostBits) << hostBits
  return { family, first, last: first + (1n << hostBits) - 1n }
}
