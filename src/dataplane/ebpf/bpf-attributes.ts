/** The commands of bpf(2), and the structures that they take: numbers and pointers at fixed offsets. */
import type { Libc } from '../libc/load-libc.ts'
import type { AttachType, MapType } from './bpf.ts'

export const bpfCommand = {
  createMap: 0,
  lookup: 1,
  update: 2,
  delete: 3,
  nextKey: 4,
  loadProgram: 5,
  pin: 6,
  openPin: 7,
  programById: 13,
  info: 15,
  query: 16,
  loadTypes: 18,
  lookupBatch: 24,
  updateBatch: 26,
  deleteBatch: 27,
  createLink: 28,
  updateLink: 29,
  createIterator: 33,
  detachLink: 34,
} as const

/** `array-of-maps` holds maps; it exists for what its changes wait for. */
export const mapTypeNumber: Readonly<Record<MapType | 'array-of-maps', number>> = {
  hash: 1,
  array: 2,
  'array-of-maps': 12,
  'socket-storage': 24,
}

export const programTypeNumber = { hook: 18, iterator: 26 } as const

export const attachTypeNumber: Readonly<Record<AttachType | 'iterator', number>> = {
  connect4: 10,
  connect6: 11,
  sendmsg4: 14,
  sendmsg6: 15,
  recvmsg4: 19,
  recvmsg6: 20,
  iterator: 28,
  getpeername4: 29,
  getpeername6: 30,
}

/**
 * One structure for one call. It is all zeros at first: the kernel refuses other bytes that it does not know. What its
 * pointers point to is kept with it, so that nothing is collected while the kernel reads it.
 */
export class BpfAttributes {
  readonly bytes: Buffer
  readonly #libc: Libc
  readonly #pointedTo: Buffer[] = []

  constructor(libc: Libc, size: number) {
    this.#libc = libc
    this.bytes = Buffer.alloc(size)
  }

  u32(offset: number, value: number): this {
    this.bytes.writeUInt32LE(value, offset)
    return this
  }

  u64(offset: number, value: bigint): this {
    this.bytes.writeBigUInt64LE(value, offset)
    return this
  }

  pointer(offset: number, to: Buffer): this {
    this.#pointedTo.push(to)
    return this.u64(offset, this.#libc.addressOf(to))
  }

  /** The kernel's names have 15 characters and a zero. */
  name(offset: number, name: string): this {
    this.bytes.write(name.slice(0, 15), offset, 'latin1')
    return this
  }

  /** Returns what the command returns, or a negated errno. The kernel may have changed the bytes. */
  call(command: number): number {
    return this.#libc.bpf(command, this.bytes)
  }

  /** On another thread, for commands that wait. */
  callAsync(command: number): Promise<boolean> {
    return this.#libc.bpfAsync(command, this.bytes)
  }
}
