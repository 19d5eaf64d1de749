/**
 * IP addresses and CIDRs as Kubernetes reads them: decimal octets with leading zeros are accepted (010.1.0.1 is
 * 10.1.0.1, not octal), zones are refused, and an IPv4-mapped IPv6 address counts as IPv4. Inside Fairlead an address
 * is always its canonical text, so `===` means "same address".
 */

export type Family = 'ipv4' | 'ipv6'

export const families = ['ipv4', 'ipv6'] as const

export function otherFamily(family: Family): Family {
  return family === 'ipv4' ? 'ipv6' : 'ipv4'
}

export interface Cidr {
  readonly family: Family
  /** Host bits are cleared. */
  readonly network: string
  readonly prefixLength: number
}

/** Returns the canonical text. */
export function parseIp(text: string): string | undefined {
  const v4 = parseV4(text)
  if (v4 !== undefined) return renderV4(v4)
  const groups = parseV6(text)
  if (groups === undefined) return undefined
  const mapped = mappedV4(groups)
  return mapped === undefined ? renderV6(groups) : renderV4(mapped)
}

/** The address must be canonical. */
export function familyOf(ip: string): Family {
  return ip.includes(':') ? 'ipv6' : 'ipv4'
}

export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf('/')
  if (slash < 0) return undefined
  const length = parsePrefixLength(text.slice(slash + 1))
  const ip = parseIp(text.slice(0, slash))
  if (ip === undefined || length === undefined) return undefined
  const family = familyOf(ip)
  // ::ffff:10.0.0.0/104 is 10.0.0.0/8: the mapped prefix is not part of an IPv4 length.
  const prefixLength = family === 'ipv4' && text.includes(':') ? length - 96 : length
  if (prefixLength < 0 || prefixLength > bitsOf(family)) return undefined
  return { family, network: networkOf(ip, prefixLength), prefixLength }
}

export function renderCidr(cidr: Cidr): string {
  return `${cidr.network}/${cidr.prefixLength}`
}

/** The address must be canonical. Addresses of the other family are never contained. */
export function cidrContains(cidr: Cidr, ip: string): boolean {
  return familyOf(ip) === cidr.family && networkOf(ip, cidr.prefixLength) === cidr.network
}

/** `ip:port`, with brackets around IPv6. */
export function hostPort(ip: string, port: number): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`
}

/** The address as an unsigned number, for allocation and for wire formats. */
export function ipToBigInt(ip: string): bigint {
  if (familyOf(ip) === 'ipv4') return BigInt(parseV4(ip) ?? invalid(ip))
  return (parseV6(ip) ?? invalid(ip)).reduce((sum, group) => (sum << 16n) | BigInt(group), 0n)
}

export function ipFromBigInt(value: bigint, family: Family): string {
  if (family === 'ipv4') return renderV4(Number(value & 0xffffffffn))
  const groups: number[] = []
  for (let shift = 112n; shift >= 0n; shift -= 16n) groups.push(Number((value >> shift) & 0xffffn))
  return renderV6(groups)
}

export function isUnspecified(ip: string): boolean {
  return ip === '0.0.0.0' || ip === '::'
}

/** Where programs of a machine expect each other. */
export const loopbackIps: Readonly<Record<Family, string>> = { ipv4: '127.0.0.1', ipv6: '::1' }

export function isLoopback(ip: string): boolean {
  return ip === '::1' || ip.startsWith('127.')
}

function bitsOf(family: Family): number {
  return family === 'ipv4' ? 32 : 128
}

/** The address with its host bits cleared. It must be canonical. */
export function networkOf(ip: string, prefixLength: number): string {
  const v4 = parseV4(ip)
  // In JavaScript `<< 32` is `<< 0`, so a prefix of length zero is a special case.
  if (v4 !== undefined) return renderV4(prefixLength === 0 ? 0 : (v4 & (-1 << (32 - prefixLength))) >>> 0)
  const groups = parseV6(ip) ?? invalid(ip)
  return renderV6(
    groups.map((group, index) => {
      const kept = Math.min(16, Math.max(0, prefixLength - 16 * index))
      return group & (0xffff << (16 - kept)) & 0xffff
    }),
  )
}

function parsePrefixLength(text: string): number | undefined {
  return /^\d{1,3}$/.test(text) ? Number(text) : undefined
}

/** Parses by hand instead of a regular expression: this runs for every endpoint of every slice. */
function parseV4(text: string): number | undefined {
  let value = 0
  let octet = -1
  let octets = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code >= 48 && code <= 57) {
      octet = (octet < 0 ? 0 : octet * 10) + code - 48
      if (octet > 255) return undefined
    } else if (code === 46 && octet >= 0 && octets < 3) {
      value = value * 256 + octet
      octets++
      octet = -1
    } else return undefined
  }
  return octets === 3 && octet >= 0 ? value * 256 + octet : undefined
}

function renderV4(value: number): string {
  return `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`
}

function parseV6(text: string): number[] | undefined {
  const halves = text.split('::')
  if (halves.length > 2 || !text.includes(':')) return undefined
  const head = parseGroups(halves[0] ?? '', halves.length === 1)
  const tail = parseGroups(halves[1] ?? '', true)
  if (head === undefined || tail === undefined) return undefined
  const missing = 8 - head.length - tail.length
  if (halves.length === 1) return missing === 0 ? head : undefined
  // "::" stands for at least one group.
  return missing >= 1 ? [...head, ...new Array<number>(missing).fill(0), ...tail] : undefined
}

function parseGroups(text: string, mayEndInV4: boolean): number[] | undefined {
  if (text === '') return []
  const parts = text.split(':')
  const groups: number[] = []
  for (const [index, part] of parts.entries()) {
    if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16))
    else {
      const v4 = mayEndInV4 && index === parts.length - 1 ? parseV4(part) : undefined
      if (v4 === undefined) return undefined
      groups.push(v4 >>> 16, v4 & 0xffff)
    }
  }
  return groups
}

function mappedV4(groups: readonly number[]): number | undefined {
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0)
  return isMapped ? ((groups[6] ?? 0) * 65536 + (groups[7] ?? 0)) >>> 0 : undefined
}

/** RFC 5952: the longest run of two or more zero groups becomes "::"; of equal runs, the first. */
function renderV6(groups: readonly number[]): string {
  let best = { start: -1, length: 1 }
  for (let start = 0; start < 8; start++) {
    let length = 0
    while (groups[start + length] === 0) length++
    if (length > best.length) best = { start, length }
    if (length > 0) start += length
  }
  const hex = (part: readonly number[]) => part.map((group) => group.toString(16)).join(':')
  if (best.start < 0) return hex(groups)
  return `${hex(groups.slice(0, best.start))}::${hex(groups.slice(best.start + best.length))}`
}

function invalid(ip: string): never {
  throw new TypeError(`"${ip}" is not a canonical IP address: pass what parseIp returned`)
}
