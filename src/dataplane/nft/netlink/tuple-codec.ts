/** Keys and values of one or more fields: `10.0.0.1 . tcp . 80`. In the kernel each of several fields is padded to four bytes. */
import { fieldCodecs, indexInIntervals } from './field-codec.ts'
import type { FieldCodec } from './field-codec.ts'
import type { FieldType, SetDeclaration } from '../nft.ts'

export interface TupleCodec {
  readonly bytes: number
  /** False when the text is none of these fields; what was written then is of no use. */
  write(text: string, buffer: Buffer, at: number): boolean
  read(buffer: Buffer, at: number): string
  /** For sets of intervals, where a field may be a prefix or a range: the lowest key that it covers, and the highest. */
  writeRange(text: string, buffer: Buffer, lowestAt: number, highestAt: number): boolean
  readRange(buffer: Buffer, lowestAt: number, highestAt: number): string
}

interface PlacedField {
  readonly type: FieldType
  readonly codec: FieldCodec
  readonly offset: number
  /** Where the next one starts. */
  readonly end: number
}

const separator = ' . '

/** Of the keys of a set. */
export function keyCodec({ key, isInterval = false }: Pick<SetDeclaration, 'key' | 'isInterval'>): TupleCodec {
  return tupleCodec(key, isInterval)
}

export function tupleCodec(types: readonly FieldType[], isInterval = false): TupleCodec {
  const fields = placeFields(types, isInterval)
  const bytes = fields.at(-1)?.end ?? 0

  const eachField = (text: string, put: (field: PlacedField, from: number, to: number) => boolean): boolean => {
    let from = 0
    for (const field of fields) {
      const space = text.indexOf(' ', from)
      const to = space < 0 ? text.length : space
      if (!put(field, from, to)) return false
      if (field.end < bytes && !text.startsWith(separator, to)) return false
      from = to + separator.length
    }
    return from === text.length + separator.length
  }

  const writeField = (
    text: string,
    { codec, offset, end }: PlacedField,
    from: number,
    to: number,
    buffer: Buffer,
    at: number,
  ) => {
    for (let pad = at + offset + codec.bytes; pad < at + end; pad++) buffer[pad] = 0
    return codec.write(text, from, to, buffer, at + offset)
  }

  const read = (buffer: Buffer, at: number): string => {
    let text = ''
    for (const { codec, offset } of fields) text += (offset === 0 ? '' : separator) + codec.read(buffer, at + offset)
    return text
  }

  return {
    bytes,
    write: (text, buffer, at) => eachField(text, (field, from, to) => writeField(text, field, from, to, buffer, at)),
    read,

    writeRange(text, buffer, lowestAt, highestAt) {
      return eachField(text, (field, from, to) => {
        const dash = indexWithin(text, '-', from, to)
        const slash = indexWithin(text, '/', from, to)
        const writes = (start: number, end: number, at: number) => writeField(text, field, start, end, buffer, at)
        if (dash >= 0) return writes(from, dash, lowestAt) && writes(dash + 1, to, highestAt)
        const end = slash >= 0 ? slash : to
        if (!writes(from, end, lowestAt) || !writes(from, end, highestAt)) return false
        const { offset, codec } = field
        const bits = codec.bytes * 8
        const prefixLength = slash < 0 ? bits : Number(text.slice(slash + 1, to))
        if (!Number.isInteger(prefixLength) || prefixLength < 0 || prefixLength > bits) return false
        spreadHostBits(buffer, lowestAt + offset, highestAt + offset, codec.bytes, prefixLength)
        return true
      })
    },

    readRange(buffer, lowestAt, highestAt) {
      return fields.map((field) => readFieldRange(field, buffer, lowestAt, highestAt)).join(separator)
    },
  }
}

function placeFields(types: readonly FieldType[], isInterval: boolean): PlacedField[] {
  let offset = 0
  return types.map((type) => {
    const codec = isInterval && type === 'index' ? indexInIntervals : fieldCodecs[type]
    const start = offset
    offset += types.length === 1 ? codec.bytes : (codec.bytes + 3) & ~3
    return { type, codec, offset: start, end: offset }
  })
}

/** -1 where it is not in that part of the text. */
function indexWithin(text: string, character: string, from: number, to: number): number {
  const index = text.indexOf(character, from)
  return index < to ? index : -1
}

/** Addresses as prefixes, if they are some: so nft prints them. */
function readFieldRange({ type, codec, offset }: PlacedField, buffer: Buffer, lowestAt: number, highestAt: number) {
  const [from, to] = [lowestAt + offset, highestAt + offset]
  const lowest = codec.read(buffer, from)
  const prefixLength = prefixLengthOf(buffer, from, to, codec.bytes)
  if (prefixLength === codec.bytes * 8) return lowest
  const isPrefix = prefixLength !== undefined && (type === 'ipv4_addr' || type === 'ipv6_addr')
  return isPrefix ? `${lowest}/${prefixLength}` : `${lowest}-${codec.read(buffer, to)}`
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
