/** Extracts the messages from the bytes that a gRPC client sends. */
import { frameHeaderLength } from '../wire/op-frames.ts'

export type FrameProblem = 'too-large' | 'compressed'

export class RequestFrames {
  readonly #maxLength: number
  #rest: Buffer = Buffer.alloc(0)

  constructor(maxLength: number) {
    this.#maxLength = maxLength
  }

  /** Returns the messages that are complete, or why nothing more can be read from this client. */
  push(chunk: Buffer): readonly Buffer[] | FrameProblem {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const messages: Buffer[] = []
    let at = 0
    while (bytes.length - at >= frameHeaderLength) {
      if (bytes[at] !== 0) return 'compressed'
      const length = bytes.readUInt32BE(at + 1)
      if (length > this.#maxLength) return 'too-large'
      const end = at + frameHeaderLength + length
      if (end > bytes.length) break
      messages.push(bytes.subarray(at + frameHeaderLength, end))
      at = end
    }
    this.#rest = at === bytes.length ? empty : Buffer.from(bytes.subarray(at))
    return messages
  }
}

const empty = Buffer.alloc(0)
