/**
 * The memory that bytes pass through. All sockets of a thread read into one buffer, since each read is dealt with
 * before the next begins; what has to wait for the other side is copied out of it. So an idle connection holds no
 * memory, and a busy one at most one chunk per direction.
 */

/** One read of a socket takes at most this much. Larger reads save calls and cost a slow reader's memory. */
const readBytes = 131_072
/** Up to here Node's own pool of small buffers is the cheapest place. */
const smallBytes = 4_096
/** Spare chunks beyond this go back to the system. */
const maxSpare = 64

export class ReadBuffers {
  readonly incoming = Buffer.allocUnsafeSlow(readBytes)
  /** How many there were. */
  reads = 0
  readonly #spare: Buffer[] = []

  /** A copy of the first bytes of `incoming`. */
  copyOut(length: number): Buffer {
    if (length <= smallBytes) {
      const small = Buffer.allocUnsafe(length)
      this.incoming.copy(small, 0, 0, length)
      return small
    }
    const chunk = this.#spare.pop() ?? Buffer.allocUnsafeSlow(readBytes)
    this.incoming.copy(chunk, 0, 0, length)
    return chunk.subarray(0, length)
  }

  /** The caller must not use the copy after this. */
  giveBack(copy: Buffer): void {
    if (copy.length > smallBytes && this.#spare.length < maxSpare) this.#spare.push(whole(copy))
  }
}

function whole(copy: Buffer): Buffer {
  return Buffer.from(copy.buffer as ArrayBuffer)
}
