import { refuseControlCharacter } from '../refuse-control-character.ts'

/**
 * Writes netlink messages one after the other into one growing buffer. A first sync has 250,000 elements of a dozen
 * attributes each, so nothing here makes an object per attribute.
 */
const messageHeaderBytes = 16
const netfilterHeaderBytes = 4
const attributeHeaderBytes = 4
const nestedFlag = 0x8000

export class BatchWriter {
  #buffer: Buffer
  #at = 0
  #messageStart = 0
  #sequence = 0

  constructor(expectedBytes: number) {
    this.#buffer = Buffer.allocUnsafeSlow(expectedBytes)
  }

  /** Where the next byte goes. */
  get at(): number {
    return this.#at
  }

  /** Ask for it again after each `ensureRoom`. */
  get buffer(): Buffer {
    return this.#buffer
  }

  get sequence(): number {
    return this.#sequence
  }

  /** Call it before writing: nothing else here looks at the size of the buffer. */
  ensureRoom(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#buffer.length, this.#at + bytes))
    this.#buffer.copy(larger, 0, 0, this.#at)
    this.#buffer = larger
  }

  /** `resource` is most often 0. The messages are numbered from 1. */
  beginMessage(type: number, flags: number, family: number, resource = 0): void {
    this.ensureRoom(2 * messageHeaderBytes)
    this.#messageStart = this.#at
    const at = this.#at
    this.#buffer.writeUInt16LE(type, at + 4)
    this.#buffer.writeUInt16LE(flags, at + 6)
    this.#buffer.writeUInt32LE(++this.#sequence, at + 8)
    this.#buffer.writeUInt32LE(0, at + 12)
    this.#buffer[at + messageHeaderBytes] = family
    this.#buffer[at + messageHeaderBytes + 1] = 0
    this.#buffer.writeUInt16BE(resource, at + messageHeaderBytes + 2)
    this.#at += messageHeaderBytes + netfilterHeaderBytes
  }

  endMessage(): void {
    this.#buffer.writeUInt32LE(this.#at - this.#messageStart, this.#messageStart)
  }

  addFlags(messageAt: number, flags: number): void {
    this.#buffer.writeUInt16LE(this.#buffer.readUInt16LE(messageAt + 6) | flags, messageAt + 6)
  }

  /** Returns what `endNested` wants. */
  beginNested(type: number): number {
    const start = this.#at
    this.#buffer.writeUInt16LE(type | nestedFlag, start + 2)
    this.#at += attributeHeaderBytes
    return start
  }

  endNested(start: number): void {
    this.#buffer.writeUInt16LE(this.#at - start, start)
  }

  /** Returns where its payload goes, which the caller writes. */
  attribute(type: number, bytes: number): number {
    const start = this.#at
    this.#buffer.writeUInt16LE(attributeHeaderBytes + bytes, start)
    this.#buffer.writeUInt16LE(type, start + 2)
    const payload = start + attributeHeaderBytes
    this.#at = (payload + bytes + 3) & ~3
    for (let pad = payload + bytes; pad < this.#at; pad++) this.#buffer[pad] = 0
    return payload
  }

  /** With the final NUL that the kernel expects. */
  text(type: number, text: string): void {
    refuseControlCharacter(text)
    const bytes = Buffer.byteLength(text)
    const payload = this.attribute(type, bytes + 1)
    this.#buffer.write(text, payload)
    this.#buffer[payload + bytes] = 0
  }

  number(type: number, value: number): void {
    this.#buffer.writeUInt32BE(value, this.attribute(type, 4))
  }

  /** Attributes that were written before. */
  copy(bytes: Buffer): void {
    this.#buffer.set(bytes, this.#at)
    this.#at += bytes.length
  }

  /** What has been written so far. */
  written(): Buffer {
    return this.#buffer.subarray(0, this.#at)
  }
}
