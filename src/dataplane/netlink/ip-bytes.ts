/**
 * IP addresses as the kernel writes them: 4 or 16 bytes, most significant first. IPv6 is converted in place, because
 * numbers of 128 bits and a Buffer for each address would be slow.
 */
import { familyOf, ipToBigInt } from '../../net/ip.ts'
import type { Slice } from './attribute.ts'

export function ipBytes(ip: string): Buffer {
  const value = ipToBigInt(ip)
  return Buffer.from(value.toString(16).padStart(familyOf(ip) === 'ipv4' ? 8 : 32, '0'), 'hex')
}

/** The canonical text. */
export function readIp({ buffer, from, to }: Slice): string {
  // Spelled out for speed: a dump reads four addresses per flow.
  if (to - from === 4) return `${buffer[from]}.${buffer[from + 1]}.${buffer[from + 2]}.${buffer[from + 3]}`
  return readIpv6(buffer, from)
}

/** The address is `text.slice(from, to)`. Returns false if it is not valid. */
export function writeIpv6(text: string, from: number, to: number, buffer: Buffer, at: number): boolean {
  let groups = 0
  /** How many groups come before "::", or -1. */
  let gap = -1
  let start = from
  if (text.startsWith('::', from)) {
    gap = 0
    start += 2
  }
  while (start < to) {
    let end = start
    let value = 0
    for (; end < to; end++) {
      const digit = hexDigit(text.charCodeAt(end))
      if (digit < 0) break
      value = value * 16 + digit
    }
    if (end === start || end - start > 4 || groups === 8) return false
    buffer[at + 2 * groups] = value >> 8
    buffer[at + 2 * groups + 1] = value
    groups++
    if (end === to) break
    if (text.charCodeAt(end) !== colon) return false
    start = end + 1
    if (start === to) return false
    if (text.charCodeAt(start) === colon) {
      if (gap >= 0) return false
      gap = groups
      start++
    }
  }
  if (gap < 0) return groups === 8
  if (groups === 8) return false
  const moved = 2 * (groups - gap)
  buffer.copyWithin(at + 16 - moved, at + 2 * gap, at + 2 * groups)
  buffer.fill(0, at + 2 * gap, at + 16 - moved)
  return true
}

/** The canonical text (RFC 5952): the longest run of two or more zero groups becomes "::", of equal ones the first. */
export function readIpv6(buffer: Buffer, at: number): string {
  let gap = -1
  let gapLength = 1
  for (let group = 0; group < 8; group++) {
    let length = 0
    while (group + length < 8 && groupAt(buffer, at, group + length) === 0) length++
    if (length > gapLength) {
      gap = group
      gapLength = length
    }
    group += length
  }
  let text = ''
  for (let group = 0; group < 8; group++) {
    if (group === gap) {
      text += '::'
      group += gapLength - 1
    } else {
      if (group > 0 && group !== gap + gapLength) text += ':'
      text += groupAt(buffer, at, group).toString(16)
    }
  }
  return text
}

const colon = 58

function groupAt(buffer: Buffer, at: number, group: number): number {
  return ((buffer[at + 2 * group] ?? 0) << 8) | (buffer[at + 2 * group + 1] ?? 0)
}

function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  if (code >= 97 && code <= 102) return code - 87
  return code >= 65 && code <= 70 ? code - 55 : -1
}
