/**
 * Encoded operations, already in the five-byte frame of gRPC. They are made once and sent to every node that needs
 * them.
 */
import { OpItem } from '../proto/generated/localv1/api.ts'
import type { Set as SetNumber } from '../proto/generated/localv1/api.ts'

/** A flag for compression, and the length in four bytes. */
export const frameHeaderLength = 5

export function setFrame(set: SetNumber, path: string, bytes: Uint8Array): Buffer {
  return frame({ Op: { $case: 'Set', value: { Ref: { Set: set, Path: path }, Bytes: bytes } } })
}

export function deleteFrame(set: SetNumber, path: string): Buffer {
  return frame({ Op: { $case: 'Delete', value: { Set: set, Path: path } } })
}

export const syncFrame: Buffer = frame({ Op: { $case: 'Sync', value: {} } })

export const resetFrame: Buffer = frame({ Op: { $case: 'Reset', value: {} } })

function frame(item: OpItem): Buffer {
  const message = OpItem.encode(item).finish()
  const framed = Buffer.allocUnsafe(frameHeaderLength + message.length)
  framed.writeUInt8(0, 0) // not compressed
  framed.writeUInt32BE(message.length, 1)
  framed.set(message, frameHeaderLength)
  return framed
}
