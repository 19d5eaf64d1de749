/**
 * The lines of the journal: `<crc32> <length> <json>\n`, both numbers as 8 hex digits, the length in bytes. One frame
 * holds one batch of writes and is synced before the next begins. So a crash can only break the last frame; a broken
 * frame with a good one behind it is damage.
 */
import { crc32 } from 'node:zlib'

export interface ScannedFrames {
  readonly payloads: readonly string[]
  /** The bytes before this offset are good. */
  readonly goodBytes: number
  readonly broken: { readonly why: string; readonly isLast: boolean } | undefined
}

const headerBytes = 18
const newline = 0x0a

export function encodeFrame(json: string): Buffer {
  const length = Buffer.byteLength(json)
  const frame = Buffer.allocUnsafe(headerBytes + length + 1)
  frame.write(json, headerBytes)
  frame[headerBytes + length] = newline
  const checksum = crc32(frame.subarray(headerBytes, headerBytes + length))
  frame.write(`${hex(checksum)} ${hex(length)} `, 0, 'latin1')
  return frame
}

export function scanFrames(bytes: Buffer): ScannedFrames {
  const payloads: string[] = []
  let offset = 0
  while (offset < bytes.length) {
    const frame = frameAt(bytes, offset)
    if (typeof frame === 'string') {
      return { payloads, goodBytes: offset, broken: { why: frame, isLast: !hasFrameAfter(bytes, offset) } }
    }
    payloads.push(frame.json)
    offset = frame.end
  }
  return { payloads, goodBytes: offset, broken: undefined }
}

/** The frame, or why there is none. */
function frameAt(bytes: Buffer, offset: number): { readonly json: string; readonly end: number } | string {
  const header = /^([0-9a-f]{8}) ([0-9a-f]{8}) $/.exec(bytes.toString('latin1', offset, offset + headerBytes))
  if (header === null) return 'it does not begin with a checksum and a length'
  const start = offset + headerBytes
  const end = start + Number.parseInt(header[2] ?? '', 16)
  if (end >= bytes.length) return 'it is cut short'
  if (bytes[end] !== newline) return 'it does not end where its length says'
  const payload = bytes.subarray(start, end)
  if (hex(crc32(payload)) !== header[1]) return 'its checksum does not match'
  return { json: payload.toString(), end: end + 1 }
}

/** Tries every offset where a frame could begin, because the damage may include the line feed before it. */
function hasFrameAfter(bytes: Buffer, offset: number): boolean {
  const rest = bytes.toString('latin1', offset + 1)
  for (const { index } of rest.matchAll(/[0-9a-f]{8} [0-9a-f]{8} /g)) {
    if (typeof frameAt(bytes, offset + 1 + index) !== 'string') return true
  }
  return false
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0')
}
