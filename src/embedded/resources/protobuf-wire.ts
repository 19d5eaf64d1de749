/** The protobuf wire format, as far as Kubernetes messages use it. */

export type WireValue =
  { readonly type: 'varint'; readonly value: bigint } | { readonly type: 'bytes'; readonly value: Uint8Array }

export class ProtobufError extends Error {
  override readonly name = 'ProtobufError'
}

/** Yields the fields in their order. No message that we read has fixed-width fields, so those are skipped. */
export function* readFields(message: Uint8Array): Generator<readonly [number: number, value: WireValue]> {
  const cursor = { bytes: message, at: 0 }
  while (cursor.at < message.length) {
    const tag = readVarint(cursor)
    const number = Number(tag >> 3n)
    switch (Number(tag & 7n)) {
      case 0:
        yield [number, { type: 'varint', value: readVarint(cursor) }]
        break
      case 1:
        take(cursor, 8)
        break
      case 2:
        yield [number, { type: 'bytes', value: take(cursor, Number(readVarint(cursor))) }]
        break
      case 5:
        take(cursor, 4)
        break
      default:
        throw new ProtobufError(`field ${number} has an unknown wire type`)
    }
  }
}

interface Cursor {
  readonly bytes: Uint8Array
  at: number
}

function readVarint(cursor: Cursor): bigint {
  let value = 0n
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const [byte = 0] = take(cursor, 1)
    value |= BigInt(byte & 0x7f) << shift
    if (byte < 0x80) return BigInt.asUintN(64, value)
  }
  throw new ProtobufError('a number has more than 10 bytes')
}

function take(cursor: Cursor, length: number): Uint8Array {
  const end = cursor.at + length
  if (end > cursor.bytes.length) throw new ProtobufError('the message ends in the middle of a field')
  const part = cursor.bytes.subarray(cursor.at, end)
  cursor.at = end
  return part
}
