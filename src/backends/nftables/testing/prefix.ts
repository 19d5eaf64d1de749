import type { Cidr } from '../../../net/ip.ts'
import { parseCidr } from '../../../net/ip.ts'

/** A CIDR, or an address that stands for itself. */
export function parsePrefix(text: string): Cidr {
  const cidr = parseCidr(text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`)
  if (cidr === undefined) throw new Error(`not a prefix: ${text}`)
  return cidr
}
