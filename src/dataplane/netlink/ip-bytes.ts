/** IP addresses as the kernel writes them: 4 or 16 bytes, most significant first. */
import { familyOf, ipToBigInt } from '../../net/ip.ts'
import type { Slice } from './attribute.ts'
import { readIpv6 } from './ipv6-bytes.ts'

export function ipBytes(ip: string): Buffer {
  const value = ipToBigInt(ip)
  return Buffer.from(value.toString(16).padStart(familyOf(ip) === 'ipv4' ? 8 : 32, '0'), 'hex')
}

/** The canonical text. */
export function readIp({ buffer, from, to }: Slice): string {
  // Spelled out because a dump reads four addresses per flow.
  if (to - from === 4) return `${buffer[from]}.${buffer[from + 1]}.${buffer[from + 2]}.${buffer[from + 3]}`
  return readIpv6(buffer, from)
}
