/** Reads the programs and maps of an object file. Pure; what is wrong with a file is found here, not by the kernel. */
import { attachTypes } from './bpf.ts'
import type { AttachType } from './bpf.ts'
import { badObject, eachRecord, readElf, textAt } from './elf.ts'
import type { Elf, ElfRelocation, ElfSection } from './elf.ts'
import type { BpfObject, DeclaredMap, MapLoad, ProgramImage } from './program-image.ts'
import { readSourceLines } from './source-lines.ts'

/** Throws a BpfError `bad-object` that names the section. */
export function readObject(file: Uint8Array): BpfObject {
  const elf = readElf(file)
  const maps = readMaps(elf)
  const mapNames = new Set(maps.map(({ name }) => name))
  const license = readLicense(elf)
  const linesBySection = readSourceLines(elf)
  const programs = elf.sections
    .filter(({ isCode, bytes }) => isCode && bytes.length > 0)
    .map((section): ProgramImage => ({
      name: programName(elf, section),
      section: section.name,
      attachType: attachTypeOf(section),
      license,
      instructions: Uint8Array.from(section.bytes),
      mapLoads: section.relocations.map((relocation) => mapLoad(section, relocation, mapNames)),
      sourceLines: linesBySection.get(section.name) ?? [],
    }))
  return { programs, maps }
}

/** `cgroup/connect4`, or a variant of it such as `cgroup/connect4-old`. */
function attachTypeOf({ name }: ElfSection): AttachType | 'iterator' {
  if (name === 'iter/bpf_sk_storage_map') return 'iterator'
  const hook = /^cgroup\/(\w+)(-\w+)?$/.exec(name)?.[1]
  const found = attachTypes.find((type) => type === hook)
  if (found === undefined) throw badObject(`the section "${name}" is for no hook that is known`)
  return found
}

function programName({ symbols }: Elf, { index, name }: ElfSection): string {
  const names = symbols.filter(({ kind, section }) => kind === 'function' && section === index)
  const [only, second] = names
  if (only === undefined) throw badObject(`the section "${name}" has no function`)
  if (second !== undefined) throw badObject(`the section "${name}" has two functions, ${only.name} and ${second.name}`)
  return only.name
}

const mapBytes = 20

function readMaps({ sections, symbols }: Elf): readonly DeclaredMap[] {
  const section = sections.find(({ name }) => name === 'maps')
  if (section === undefined) return []
  const { bytes, index } = section
  const starts = new Set(eachRecord(bytes, mapBytes, 'maps'))
  return symbols
    .filter((symbol) => symbol.kind === 'object' && symbol.section === index)
    .map(({ name, offset }) => {
      if (!starts.has(offset)) throw badObject(`the section "maps" has no record for "${name}"`)
      return {
        name,
        type: bytes.readUInt32LE(offset),
        keySize: bytes.readUInt32LE(offset + 4),
        valueSize: bytes.readUInt32LE(offset + 8),
        maxEntries: bytes.readUInt32LE(offset + 12),
        flags: bytes.readUInt32LE(offset + 16),
      }
    })
}

function readLicense({ sections }: Elf): string {
  const section = sections.find(({ name }) => name === 'license')
  if (section === undefined) throw badObject('it has no section "license"')
  return textAt(section.bytes, 0)
}

const [addressRelocation, loadAddress] = [1, 0x18]

function mapLoad(section: ElfSection, { offset, type, symbol }: ElfRelocation, mapNames: ReadonlySet<string>): MapLoad {
  const wrong = (problem: string) => badObject(`the section "${section.name}" ${problem} at byte ${offset}`)
  if (type !== addressRelocation) throw wrong(`has a relocation of type ${type}`)
  if (offset % 8 !== 0 || section.bytes[offset] !== loadAddress) throw wrong('has a relocation that is not of a load')
  if (!mapNames.has(symbol.name)) throw wrong(`uses "${symbol.name}", which is not a map,`)
  return { offset, map: symbol.name }
}
