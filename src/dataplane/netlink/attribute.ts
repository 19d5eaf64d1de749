/**
 * Netlink attributes: u16 length (header included, padding not), u16 type, payload, zeros up to a multiple of four.
 * Lengths and types are in host byte order. Fairlead opens netlink sockets on little-endian machines only.
 */

const headerBytes = 4
const nestedFlag = 0x8000
/** Without the flags "nested" and "network byte order". */
const typeMask = 0x3fff

/** A part of a datagram. Not a Buffer, because a dump has tens of millions of attributes. */
export interface Slice {
  readonly buffer: Buffer
  readonly from: number
  readonly to: number
}

export function attribute(type: number, payload: Buffer): Buffer {
  const length = headerBytes + payload.length
  if (length > 0xffff) throw new RangeError(`a netlink attribute holds at most 65531 bytes, not ${payload.length}`)
  const bytes = Buffer.alloc(align(length))
  bytes.writeUInt16LE(length, 0)
  bytes.writeUInt16LE(type, 2)
  payload.copy(bytes, headerBytes)
  return bytes
}

export function nested(type: number, ...children: readonly Buffer[]): Buffer {
  return attribute(type | nestedFlag, Buffer.concat(children))
}

export const u8 = (value: number): Buffer => Buffer.of(value)

/** Host byte order. */
export function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

/** Host byte order. */
export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

export function be16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

export function be32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** With the final NUL that the kernel expects. */
export const cString = (text: string): Buffer => Buffer.from(`${text}\0`)

/** The payload of the first attribute of this type. */
export function findAttribute({ buffer, from, to }: Slice, type: number): Slice | undefined {
  let at = from
  while (at + headerBytes <= to) {
    const length = buffer.readUInt16LE(at)
    if (length < headerBytes || at + length > to) return undefined
    if ((buffer.readUInt16LE(at + 2) & typeMask) === type) return { buffer, from: at + headerBytes, to: at + length }
    at += align(length)
  }
  return undefined
}

export function skip({ buffer, from, to }: Slice, bytes: number): Slice {
  return { buffer, from: Math.min(from + bytes, to), to }
}

/** Up to the first NUL. */
export function readText({ buffer, from, to }: Slice): string {
  const nul = buffer.indexOf(0, from)
  return buffer.toString('utf8', from, nul < 0 || nul > to ? to : nul)
}

export function textIn(list: Slice, type: number): string | undefined {
  const found = findAttribute(list, type)
  return found && readText(found)
}

export function align(length: number): number {
  return (length + 3) & ~3
}
