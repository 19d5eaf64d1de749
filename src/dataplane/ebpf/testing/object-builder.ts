/** Writes small ELF objects as a compiler would, and wrong ones that no compiler writes. */
export interface BuiltSection {
  readonly name: string
  readonly type?: number
  readonly flags?: number
  readonly content: Buffer
  /** Of a relocation section: the index of the section that it is about, counted from 1. */
  readonly target?: number
}

export interface BuiltSymbol {
  readonly name: string
  readonly kind: 'object' | 'function'
  /** The index of its section, counted from 1. */
  readonly section: number
  readonly offset?: number
}

/** Sections are numbered from 1 in the given order; symbols, too. */
export function buildElf(sections: readonly BuiltSection[], symbols: readonly BuiltSymbol[]): Buffer {
  const symbolNames = new Texts()
  const symbolContent = Buffer.concat([
    Buffer.alloc(24),
    ...symbols.map(({ name, kind, section, offset = 0 }) => {
      const bytes = Buffer.alloc(24)
      bytes.writeUInt32LE(symbolNames.add(name), 0)
      bytes.writeUInt8(0x10 | (kind === 'object' ? 1 : 2), 4)
      bytes.writeUInt16LE(section, 6)
      bytes.writeBigUInt64LE(BigInt(offset), 8)
      return bytes
    }),
  ])
  const namesAt = sections.length + 2
  const all: (BuiltSection & { readonly link?: number })[] = [
    ...sections,
    { name: '.symtab', type: 2, content: symbolContent, link: namesAt },
    { name: '.strtab', type: 3, content: symbolNames.bytes() },
  ]
  const sectionNames = new Texts()
  const headers: Buffer[] = [Buffer.alloc(64)]
  const contents: Buffer[] = []
  let offset = 64
  const add = ({ name, type = 1, flags = 0, content, link = 0, target = 0 }: (typeof all)[number], nameAt?: number) => {
    const header = Buffer.alloc(64)
    header.writeUInt32LE(nameAt ?? sectionNames.add(name), 0)
    header.writeUInt32LE(type, 4)
    header.writeBigUInt64LE(BigInt(flags), 8)
    header.writeBigUInt64LE(BigInt(offset), 24)
    header.writeBigUInt64LE(BigInt(content.length), 32)
    header.writeUInt32LE(link, 40)
    header.writeUInt32LE(target, 44)
    headers.push(header)
    contents.push(content)
    offset += content.length
  }
  for (const section of all) add(section)
  const nameOfNames = sectionNames.add('.shstrtab')
  add({ name: '.shstrtab', type: 3, content: sectionNames.bytes() }, nameOfNames)
  const start = Buffer.alloc(64)
  start.writeUInt32BE(0x7f454c46, 0)
  start.set([2, 1, 1], 4)
  start.writeUInt16LE(1, 16)
  start.writeUInt16LE(247, 18)
  start.writeBigUInt64LE(BigInt(offset), 40)
  start.writeUInt16LE(64, 58)
  start.writeUInt16LE(headers.length, 60)
  start.writeUInt16LE(headers.length - 1, 62)
  return Buffer.concat([start, ...contents, ...headers])
}

/** `r1 = map; r0 = 1; exit`: all that a program needs to be one. */
export const loadMapAndAllow = Buffer.from('18010000000000000000000000000000b7000000010000009500000000000000', 'hex')

/** `r0 = 1; exit`. */
export const allow = Buffer.from('b7000000010000009500000000000000', 'hex')

export const codeFlags = 6

export function mapRecord(type: number, keySize: number, valueSize: number, maxEntries: number, flags = 0): Buffer {
  const bytes = Buffer.alloc(20)
  for (const [index, number] of [type, keySize, valueSize, maxEntries, flags].entries())
    bytes.writeUInt32LE(number, 4 * index)
  return bytes
}

export function relocation(offset: number, symbol: number, type = 1): Buffer {
  const bytes = Buffer.alloc(16)
  bytes.writeBigUInt64LE(BigInt(offset), 0)
  bytes.writeUInt32LE(type, 8)
  bytes.writeUInt32LE(symbol, 12)
  return bytes
}

class Texts {
  #bytes = Buffer.alloc(1)

  add(text: string): number {
    const at = this.#bytes.length
    this.#bytes = Buffer.concat([this.#bytes, Buffer.from(`${text}\0`)])
    return at
  }

  bytes(): Buffer {
    return this.#bytes
  }
}
