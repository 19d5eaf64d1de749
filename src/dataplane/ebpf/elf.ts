/** Reads what a compiler writes for the target `bpf`: an ELF file, 64 bits, little-endian. Pure. */
import { BpfError } from './bpf-error.ts'

export interface Elf {
  readonly sections: readonly ElfSection[]
  readonly symbols: readonly ElfSymbol[]
}

export interface ElfSection {
  readonly index: number
  readonly name: string
  readonly isCode: boolean
  readonly bytes: Buffer
  /** The places in this section that are filled in later. */
  readonly relocations: readonly ElfRelocation[]
}

interface ElfSymbol {
  readonly name: string
  readonly kind: 'object' | 'function' | 'other'
  /** The index of its section. */
  readonly section: number
  readonly offset: number
}

export interface ElfRelocation {
  readonly offset: number
  readonly type: number
  readonly symbol: ElfSymbol
}

/** Throws a BpfError `bad-object` that names the section. */
export function readElf(file: Uint8Array): Elf {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.length)
  checkHeader(bytes)
  const headers = sectionHeaders(bytes)
  const symbolTable = headers.find(({ type }) => type === sectionType.symbols)
  const symbols = symbolTable === undefined ? [] : readSymbols(bytes, headers, symbolTable)
  const sections = headers.map((header) => ({
    index: header.index,
    name: header.name,
    isCode: header.type === sectionType.content && (header.flags & executable) !== 0,
    bytes: contentOf(bytes, header),
    relocations: headers
      .filter(({ type, target }) => type === sectionType.relocations && target === header.index)
      .flatMap((relocations) => readRelocations(contentOf(bytes, relocations), relocations.name, symbols)),
  }))
  return { sections, symbols }
}

export function badObject(problem: string): BpfError {
  return new BpfError('bad-object', `cannot read the file with the eBPF programs: ${problem}`)
}

interface SectionHeader {
  readonly index: number
  readonly name: string
  readonly type: number
  readonly flags: number
  readonly offset: number
  readonly size: number
  /** The section with the names of these symbols. */
  readonly link: number
  /** The section that these relocations are about. */
  readonly target: number
}

const headerBytes = 64
const sectionType = { content: 1, symbols: 2, noBits: 8, relocations: 9 } as const
const executable = 4
const [wide, littleEndian, bpfMachine] = [2, 1, 247]

function checkHeader(bytes: Buffer): void {
  if (bytes.length < headerBytes) throw badObject(`the ELF header is cut off after ${bytes.length} bytes`)
  if (bytes.readUInt32BE(0) !== 0x7f454c46) throw badObject('it is not an ELF file')
  if (bytes[4] !== wide) throw badObject('the ELF header says that it is not for 64 bits')
  if (bytes[5] !== littleEndian)
    throw badObject('the ELF header says that it is big-endian; compile it with -target bpfel')
  const machine = bytes.readUInt16LE(18)
  if (machine !== bpfMachine) throw badObject(`the ELF header says that it is for machine ${machine}, not for BPF`)
}

function sectionHeaders(bytes: Buffer): readonly SectionHeader[] {
  const start = Number(bytes.readBigUInt64LE(40))
  const [entryBytes, count, namesIndex] = [bytes.readUInt16LE(58), bytes.readUInt16LE(60), bytes.readUInt16LE(62)]
  if (entryBytes !== headerBytes || start + count * headerBytes > bytes.length)
    throw badObject('the table of sections is cut off')
  const raw = Array.from({ length: count }, (_, index) => rawHeader(bytes, index, start + index * headerBytes))
  const names = raw[namesIndex]
  if (names === undefined) throw badObject('the table of sections names no section for their names')
  const texts = contentOf(bytes, { ...names, name: 'of names' })
  return raw.map((header) => ({ ...header, name: textAt(texts, header.nameAt) }))
}

function rawHeader(
  bytes: Buffer,
  index: number,
  at: number,
): Omit<SectionHeader, 'name'> & { readonly nameAt: number } {
  return {
    index,
    nameAt: bytes.readUInt32LE(at),
    type: bytes.readUInt32LE(at + 4),
    flags: Number(bytes.readBigUInt64LE(at + 8)),
    offset: Number(bytes.readBigUInt64LE(at + 24)),
    size: Number(bytes.readBigUInt64LE(at + 32)),
    link: bytes.readUInt32LE(at + 40),
    target: bytes.readUInt32LE(at + 44),
  }
}

function contentOf(bytes: Buffer, { name, type, offset, size }: Omit<SectionHeader, 'index'>): Buffer {
  if (type === 0 || type === sectionType.noBits) return Buffer.alloc(0)
  if (offset + size > bytes.length) throw badObject(`the section "${name}" is cut off`)
  return bytes.subarray(offset, offset + size)
}

const symbolBytes = 24

function readSymbols(bytes: Buffer, headers: readonly SectionHeader[], table: SectionHeader): readonly ElfSymbol[] {
  const content = contentOf(bytes, table)
  const names = headers[table.link]
  if (names === undefined) throw badObject(`the section "${table.name}" has no section for its names`)
  const texts = contentOf(bytes, names)
  return eachRecord(content, symbolBytes, table.name).map((at) => ({
    name: textAt(texts, content.readUInt32LE(at)),
    kind: kinds[content.readUInt8(at + 4) & 0xf] ?? 'other',
    section: content.readUInt16LE(at + 6),
    offset: Number(content.readBigUInt64LE(at + 8)),
  }))
}

const kinds: Readonly<Record<number, ElfSymbol['kind']>> = { 1: 'object', 2: 'function' }

const relocationBytes = 16

function readRelocations(content: Buffer, name: string, symbols: readonly ElfSymbol[]): readonly ElfRelocation[] {
  return eachRecord(content, relocationBytes, name).map((at) => {
    const symbol = symbols[content.readUInt32LE(at + 12)]
    if (symbol === undefined) throw badObject(`the section "${name}" names a symbol that is not there`)
    return { offset: Number(content.readBigUInt64LE(at)), type: content.readUInt32LE(at + 8), symbol }
  })
}

/** Where each record of a section begins. */
export function eachRecord(content: Buffer, size: number, name: string): readonly number[] {
  if (content.length % size !== 0) throw badObject(`the section "${name}" ends in the middle of a record`)
  return Array.from({ length: content.length / size }, (_, index) => index * size)
}

/** A C string. */
export function textAt(texts: Buffer, at: number): string {
  const end = texts.indexOf(0, at)
  return texts.toString('utf8', at, end < 0 ? texts.length : end)
}
