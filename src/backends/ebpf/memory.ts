/**
 * Zeros to be written to: bytes for addresses, numbers for the rest. A number through a DataView is one instruction; through
 * a method of Buffer it is a call and a store for each byte, and a first sync writes hundreds of thousands.
 */
export interface Memory {
  readonly bytes: Buffer
  /** The same memory. */
  readonly numbers: DataView
}

export function newMemory(size: number): Memory {
  const bytes = Buffer.alloc(size)
  return { bytes, numbers: new DataView(bytes.buffer, bytes.byteOffset, size) }
}
