/** Which line of the C source an instruction comes from: the sections `.BTF` and `.BTF.ext`, if the compiler wrote them. */
import { badObject, textAt } from './elf.ts'
import type { Elf } from './elf.ts'
import type { SourceLine } from './program-image.ts'

/** By the name of the section with the instructions. */
export function readSourceLines({ sections }: Elf): ReadonlyMap<string, readonly SourceLine[]> {
  const types = sections.find(({ name }) => name === '.BTF')?.bytes
  const lines = sections.find(({ name }) => name === '.BTF.ext')?.bytes
  if (types === undefined || lines === undefined) return new Map()
  try {
    return linesBySection(lines, stringsOf(types))
  } catch (error) {
    if (error instanceof RangeError) throw badObject('the section ".BTF.ext" is cut off')
    throw error
  }
}

/** The header: magic, version, flags, length of the header, offset and length of the types, then those of the strings. */
function stringsOf(types: Buffer): Buffer {
  const start = types.readUInt32LE(4) + types.readUInt32LE(16)
  return types.subarray(start, start + types.readUInt32LE(20))
}

const instructionBytes = 8
const columnBits = 10

/** For each section: its name, how many records follow, and the records: offset, file, text, line and column. */
function linesBySection(lines: Buffer, strings: Buffer): ReadonlyMap<string, readonly SourceLine[]> {
  const found = new Map<string, readonly SourceLine[]>()
  const start = lines.readUInt32LE(4) + lines.readUInt32LE(16)
  const end = start + lines.readUInt32LE(20)
  const recordBytes = lines.readUInt32LE(start)
  let at = start + 4
  while (at < end) {
    const section = textAt(strings, lines.readUInt32LE(at))
    const count = lines.readUInt32LE(at + 4)
    const first = at + 8
    found.set(
      section,
      Array.from({ length: count }, (_, index) => {
        const record = first + index * recordBytes
        return {
          instruction: lines.readUInt32LE(record) / instructionBytes,
          file: textAt(strings, lines.readUInt32LE(record + 4)),
          line: lines.readUInt32LE(record + 12) >>> columnBits,
        }
      }),
    )
    at = first + count * recordBytes
  }
  return found
}
