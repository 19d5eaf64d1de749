/** Netlink messages: u32 length, u16 type, u16 flags, u32 sequence, u32 port, then a body. A datagram holds several. */
import { align, skip, textIn } from './attribute.ts'
import type { Slice } from './attribute.ts'

const headerBytes = 16

export const messageType = { error: 2, done: 3 } as const

export const messageFlag = {
  request: 0x1,
  ack: 0x4,
  dumpInterrupted: 0x10,
  /** In an error: it repeats only the header of the request. */
  capped: 0x100,
  /** In an error: attributes follow, among them a text. */
  hasAckAttributes: 0x200,
  exclusive: 0x200,
  dump: 0x300,
  create: 0x400,
  append: 0x800,
} as const

export interface NetlinkMessage {
  readonly type: number
  readonly flags: number
  readonly sequence: number
  readonly body: Slice
}

export function encodeMessage(type: number, flags: number, sequence: number, body: Buffer): Buffer {
  const length = headerBytes + body.length
  const bytes = Buffer.alloc(align(length))
  bytes.writeUInt32LE(length, 0)
  bytes.writeUInt16LE(type, 4)
  bytes.writeUInt16LE(flags, 6)
  bytes.writeUInt32LE(sequence, 8)
  body.copy(bytes, headerBytes)
  return bytes
}

/** Returns nothing if a message is not complete, as in a datagram that was cut off. */
export function decodeMessages(buffer: Buffer): NetlinkMessage[] | undefined {
  const messages: NetlinkMessage[] = []
  let at = 0
  while (at < buffer.length) {
    if (at + headerBytes > buffer.length) return undefined
    const length = buffer.readUInt32LE(at)
    if (length < headerBytes || at + length > buffer.length) return undefined
    messages.push({
      type: buffer.readUInt16LE(at + 4),
      flags: buffer.readUInt16LE(at + 6),
      sequence: buffer.readUInt32LE(at + 8),
      body: { buffer, from: at + headerBytes, to: at + length },
    })
    at += align(length)
  }
  return messages
}

/** The end of an answer. Errno 0 is success: an acknowledgement, or the end of a dump. */
export interface Verdict {
  readonly errno: number
  /** The kernel's explanation, often empty. */
  readonly text: string
}

/** Returns nothing if the message is data, not the end of an answer. */
export function verdictOf({ type, flags, body }: NetlinkMessage): Verdict | undefined {
  if (type !== messageType.error && type !== messageType.done) return undefined
  const errno = body.to - body.from >= 4 ? -body.buffer.readInt32LE(body.from) : 0
  return {
    errno: errno === 0 ? 0 : errno,
    text: (flags & messageFlag.hasAckAttributes) !== 0 ? ackText(type, flags, body) : '',
  }
}

function ackText(type: number, flags: number, body: Slice): string {
  const textType = 1
  return textIn(skip(body, 4 + echoedBytes(type, flags, body)), textType) ?? ''
}

/** An error repeats the request, or only its header if asked to. The end of a dump repeats nothing. */
function echoedBytes(type: number, flags: number, body: Slice): number {
  if (type === messageType.done) return 0
  if ((flags & messageFlag.capped) !== 0 || body.to - body.from < 8) return headerBytes
  return align(body.buffer.readUInt32LE(body.from + 4))
}
