import { familyOf, ipToBigInt, parseIp } from '../../net/ip.ts'

/**
 * The MAC address that remote endpoints are given. HNS wants one, and it is never seen on a wire. The same as
 * kube-proxy's, so that what it left can be taken over: from the four bytes of an IPv4 address, or from the last four
 * of an IPv6 address, backwards.
 */
export function conjuredMac(ip: string): string {
  const canonical = parseIp(ip)
  if (canonical === undefined) return '02-11-22-33-44-55'
  const last = Buffer.alloc(4)
  last.writeUInt32BE(Number(ipToBigInt(canonical) & 0xffffffffn))
  const bytes = familyOf(canonical) === 'ipv4' ? [...last] : [...last].reverse()
  return ['02', '11', ...bytes.map((byte) => byte.toString(16).padStart(2, '0'))].join('-')
}
