/** Keys and values of one or more fields: `10.0.0.1 . tcp . 80`. In the kernel each of several fields is padded to four bytes. */
import { fieldCodecs } from './field-codec.ts'
import type { FieldCodec } from './field-codec.ts'
import type { FieldType } from '../nft.ts'

export interface TupleCodec {
  readonly bytes: number
  /** False when the text is none of these fields; what was written then is of no use. */
  write(text: string, buffer: Buffer, at: number): boolean
  read(buffer: Buffer, at: number): string
  /** For sets of prefixes, where the last field is one: the lowest key that it covers, and the highest. */
  writeRange(text: string, buffer: Buffer, lowestAt: number, highestAt: number): boolean
  readRange(buffer: Buffer, lowestAt: number, highestAt: number): string
}

interface PlacedField {
  readonly codec: FieldCodec
  readonly offset: number
  /** Where the next one starts. */
  readonly end: number
}

const separator = ' . '

export function tupleCodec(types: readonly FieldType[]): TupleCodec {
  const fields = placeFields(types)
  const last = fields.at(-1) ?? { codec: fieldCodecs.ipv4_addr, offset: 0, end: 0 }
  const bytes = last.end

  const write = (text: string, textEnd: number, buffer: Buffer, at: number): boolean => {
    let from = 0
    for (const { codec, offset, end } of fields) {
      const space = text.indexOf(' ', from)
      const to = space < 0 || space > textEnd ? textEnd : space
      if (!codec.write(text, from, to, buffer, at + offset)) return false
      for (let pad = at + offset + codec.bytes; pad < at + end; pad++) buffer[pad] = 0
      if (end < bytes && !text.startsWith(separator, to)) return false
      from = to + separator.length
    }
    return from === textEnd + separator.length
  }

  const read = (buffer: Buffer, at: number): string => {
    let text = ''
    for (const { codec, offset } of fields) text += (offset === 0 ? '' : separator) + codec.read(buffer, at + offset)
    return text
  }

  return {
    bytes,
    write: (text, buffer, at) => write(text, text.length, buffer, at),
    read,

    writeRange(text, buffer, lowestAt, highestAt) {
      const slash = text.lastIndexOf('/')
      if (!write(text, slash < 0 ? text.length : slash, buffer, lowestAt)) return false
      buffer.copy(buffer, highestAt, lowestAt, lowestAt + bytes)
      const bits = last.codec.bytes * 8
      const prefixLength = slash < 0 ? bits : Number(text.slice(slash + 1))
      if (!Number.isInteger(prefixLength) || prefixLength < 0 || prefixLength > bits) return false
      spreadHostBits(buffer, lowestAt + last.offset, highestAt + last.offset, last.codec.bytes, prefixLength)
      return true
    },

    readRange(buffer, lowestAt, highestAt) {
      const lowest = read(buffer, lowestAt)
      const [from, to] = [lowestAt + last.offset, highestAt + last.offset]
      const prefixLength = prefixLengthOf(buffer, from, to, last.codec.bytes)
      if (prefixLength === undefined) return `${lowest}-${last.codec.read(buffer, to)}`
      return prefixLength === last.codec.bytes * 8 ? lowest : `${lowest}/${prefixLength}`
    },
  }
}

function placeFields(types: readonly FieldType[]): PlacedField[] {
  let offset = 0
  return types.map((type) => {
    const codec = fieldCodecs[type]
    const start = offset
    offset += types.length === 1 ? codec.bytes : (codec.bytes + 3) & ~3
    return { codec, offset: start, end: offset }
  })
}

/** Clears the bits behind the prefix at `lowest`, and sets them at `highest`. */
function spreadHostBits(buffer: Buffer, lowest: number, highest: number, bytes: number, prefixLength: number): void {
  for (let index = prefixLength >> 3; index < bytes; index++) {
    const hostBits = 0xff >> Math.max(0, prefixLength - 8 * index)
    buffer[lowest + index] = (buffer[lowest + index] ?? 0) & ~hostBits
    buffer[highest + index] = (buffer[highest + index] ?? 0) | hostBits
  }
}

/** Undefined when the range is no prefix. */
function prefixLengthOf(buffer: Buffer, lowest: number, highest: number, bytes: number): number | undefined {
  let index = 0
  while (index < bytes && buffer[lowest + index] === buffer[highest + index]) index++
  if (index === bytes) return bytes * 8
  const [low, high] = [buffer[lowest + index] ?? 0, buffer[highest + index] ?? 0]
  const hostBits = low ^ high
  const isPrefix = (hostBits & (hostBits + 1)) === 0 && (low & hostBits) === 0
  for (let rest = index + 1; rest < bytes; rest++)
    if (buffer[lowest + rest] !== 0 || buffer[highest + rest] !== 0xff) return undefined
  return isPrefix ? 8 * index + 8 - Math.log2(hostBits + 1) : undefined
}
