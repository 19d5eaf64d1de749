/**
 * One field of a key or value: text to bytes and back. Works in place, in buffers that hold many elements: a first sync
 * writes a million fields, and a Buffer for each would cost more than all the rest.
 */
import { readIpv6, writeIpv6 } from '../../netlink/ip-bytes.ts'
import type { FieldType } from '../nft.ts'

export interface FieldCodec {
  readonly bytes: number
  /** The text is `text.slice(from, to)`. False when it is none of this type. */
  write(text: string, from: number, to: number, buffer: Buffer, at: number): boolean
  read(buffer: Buffer, at: number): string
}

export const fieldCodecs: Readonly<Record<FieldType, FieldCodec>> = {
  ipv4_addr: { bytes: 4, write: writeIpv4, read: readIpv4 },
  ipv6_addr: { bytes: 16, write: writeIpv6, read: readIpv6 },
  inet_proto: { bytes: 1, write: writeProtocol, read: readProtocol },
  inet_service: { bytes: 2, write: writePort, read: readPort },
  index: { bytes: 4, write: writeIndex, read: readIndex },
}

/** In sets of intervals, where numbers are compared byte by byte, rules turn it around first. nft does it the same way. */
export const indexInIntervals: FieldCodec = {
  bytes: 4,
  write(text, from, to, buffer, at) {
    const number = parseNumber(text, from, to, 0xffff_ffff)
    if (number >= 0) buffer.writeUInt32BE(number, at)
    return number >= 0
  },
  read: (buffer, at) => String(buffer.readUInt32BE(at)),
}

function writeIpv4(text: string, from: number, to: number, buffer: Buffer, at: number): boolean {
  let octets = 0
  let start = from
  while (octets < 4) {
    let end = start
    let value = 0
    for (; end < to; end++) {
      const digit = text.charCodeAt(end) - 48
      if (digit < 0 || digit > 9) break
      value = value * 10 + digit
    }
    if (end === start || end - start > 3 || value > 255) return false
    buffer[at + octets++] = value
    if (octets < 4 && (end >= to || text.charCodeAt(end) !== 46)) return false
    start = end + 1
  }
  return start === to + 1
}

function readIpv4(buffer: Buffer, at: number): string {
  return `${buffer[at]}.${buffer[at + 1]}.${buffer[at + 2]}.${buffer[at + 3]}`
}

const protocols: readonly (readonly [string, number])[] = [
  ['tcp', 6],
  ['udp', 17],
  ['sctp', 132],
]

function writeProtocol(text: string, from: number, to: number, buffer: Buffer, at: number): boolean {
  for (const [name, number] of protocols)
    if (to - from === name.length && text.startsWith(name, from)) {
      buffer[at] = number
      return true
    }
  const number = parseNumber(text, from, to, 255)
  buffer[at] = number
  return number >= 0
}

function readProtocol(buffer: Buffer, at: number): string {
  const number = buffer[at]
  return protocols.find(([, known]) => known === number)?.[0] ?? String(number)
}

function writePort(text: string, from: number, to: number, buffer: Buffer, at: number): boolean {
  const number = parseNumber(text, from, to, 65_535)
  buffer[at] = number >> 8
  buffer[at + 1] = number
  return number >= 0
}

function readPort(buffer: Buffer, at: number): string {
  return String(buffer.readUInt16BE(at))
}

/** The kernel made the number itself, so it is in its own byte order. */
function writeIndex(text: string, from: number, to: number, buffer: Buffer, at: number): boolean {
  const number = parseNumber(text, from, to, 0xffff_ffff)
  if (number >= 0) buffer.writeUInt32LE(number, at)
  return number >= 0
}

function readIndex(buffer: Buffer, at: number): string {
  return String(buffer.readUInt32LE(at))
}

/** -1 when it is no number, or too large. */
function parseNumber(text: string, from: number, to: number, max: number): number {
  if (to <= from || to - from > 10) return -1
  let value = 0
  for (let at = from; at < to; at++) {
    const digit = text.charCodeAt(at) - 48
    if (digit < 0 || digit > 9) return -1
    value = value * 10 + digit
  }
  return value > max ? -1 : value
}
