/** BTF, the kernel's descriptions of types. Pure. */

const magic = 0xeb9f
const headerBytes = 24
const kind = { int: 1, array: 3, function: 12 } as const

/** Socket storage is not made without a description of its key (type 1) and its value (type 3): bytes are enough. */
export function storageTypes(valueSize: number): Buffer {
  const strings = Buffer.from('\0int\0u8\0')
  const signed32 = [1, kind.int << 24, 4, (1 << 24) | 32]
  const byte = [5, kind.int << 24, 1, 8]
  const bytes = [0, kind.array << 24, 0, 2, 1, valueSize]
  const types = Buffer.from(Uint32Array.from([...signed32, ...byte, ...bytes]).buffer)
  const header = Buffer.alloc(headerBytes)
  header.writeUInt16LE(magic, 0)
  header.writeUInt8(1, 2)
  for (const [index, number] of [headerBytes, 0, types.length, types.length, strings.length].entries())
    header.writeUInt32LE(number, 4 + 4 * index)
  return Buffer.concat([header, types, strings])
}

export const storageTypeId = { key: 1, value: 3 } as const

/** The number of a function of the kernel, if its description (`/sys/kernel/btf/vmlinux`) has it. */
export function functionId(description: Buffer, name: string): number | undefined {
  const at = (offset: number) => description.readUInt32LE(offset)
  const [length, typesAt, typesLength, stringsAt] = [at(4), at(8), at(12), at(16)]
  const found = description.indexOf(`\0${name}\0`, length + stringsAt, 'latin1')
  if (found < 0) return undefined
  const nameOffset = found + 1 - length - stringsAt
  const end = length + typesAt + typesLength
  let id = 1
  for (let offset = length + typesAt; offset < end; id++) {
    const info = at(offset + 4)
    const kindOfType = (info >>> 24) & 0x1f
    if (kindOfType === kind.function && at(offset) === nameOffset) return id
    const size = extraBytes[kindOfType]
    offset += 12 + (size === undefined ? 0 : size.each * (info & 0xffff) + size.once)
  }
  return undefined
}

/** What follows the three numbers that every type has, by its kind. */
const extraBytes: Readonly<Record<number, { readonly once: number; readonly each: number }>> = {
  1: { once: 4, each: 0 }, // integer
  3: { once: 12, each: 0 }, // array
  4: { once: 0, each: 12 }, // struct
  5: { once: 0, each: 12 }, // union
  6: { once: 0, each: 8 }, // enumeration
  13: { once: 0, each: 8 }, // parameters
  14: { once: 4, each: 0 }, // variable
  15: { once: 0, each: 12 }, // section
  17: { once: 4, each: 0 }, // tag
  19: { once: 0, each: 12 }, // enumeration of 64 bits
}
