import { expect, test } from 'vitest'
import { BpfError } from './bpf-error.ts'
import { readObject } from './read-object.ts'
import { allow, buildElf, codeFlags, loadMapAndAllow, mapRecord, relocation } from './testing/object-builder.ts'
import type { BuiltSection, BuiltSymbol } from './testing/object-builder.ts'

const license: BuiltSection = { name: 'license', content: Buffer.from('Apache-2.0\0') }
const maps: BuiltSection = {
  name: 'maps',
  content: Buffer.concat([mapRecord(1, 20, 8, 65_536), mapRecord(2, 4, 64, 1, 0x400)]),
}
const mapSymbols: readonly BuiltSymbol[] = [
  { name: 'frontends', kind: 'object', section: 2 },
  { name: 'config', kind: 'object', section: 2, offset: 20 },
]
const connect4: BuiltSection = { name: 'cgroup/connect4', flags: codeFlags, content: loadMapAndAllow }
const connect4Symbol: BuiltSymbol = { name: 'fl_connect4', kind: 'function', section: 3 }
const loadsConfig: BuiltSection = { name: '.relcgroup/connect4', type: 9, content: relocation(0, 2), target: 3 }

/** A small object, with one section changed. */
function object(changed: Partial<Record<'license' | 'maps' | 'connect4' | 'loadsConfig', Partial<BuiltSection>>> = {}) {
  const sections = { license, maps, connect4, loadsConfig }
  return buildElf(
    Object.entries(sections).map(([key, section]) => ({ ...section, ...changed[key as keyof typeof sections] })),
    [...mapSymbols, connect4Symbol],
  )
}

test('an object has programs with what they need, and maps', () => {
  expect(readObject(object())).toEqual({
    programs: [
      {
        name: 'fl_connect4',
        section: 'cgroup/connect4',
        attachType: 'connect4',
        license: 'Apache-2.0',
        instructions: Uint8Array.from(loadMapAndAllow),
        mapLoads: [{ offset: 0, map: 'config' }],
        sourceLines: [],
      },
    ],
    maps: [
      { name: 'frontends', type: 1, keySize: 20, valueSize: 8, maxEntries: 65_536, flags: 0 },
      { name: 'config', type: 2, keySize: 4, valueSize: 64, maxEntries: 1, flags: 0x400 },
    ],
  })
})

test('a variant of a program is for the same hook', () => {
  const { programs } = readObject(object({ connect4: { name: 'cgroup/connect4-old' } }))
  expect(programs.map(({ section, attachType }) => [section, attachType])).toEqual([
    ['cgroup/connect4-old', 'connect4'],
  ])
})

test('an iterator is for no hook', () => {
  const { programs } = readObject(object({ connect4: { name: 'iter/bpf_sk_storage_map' } }))
  expect(programs[0]?.attachType).toBe('iterator')
})

function refusal(file: Uint8Array): string {
  try {
    readObject(file)
  } catch (error) {
    if (!(error instanceof BpfError) || error.reason !== 'bad-object') throw error
    return error.message.replace('cannot read the file with the eBPF programs: ', '')
  }
  return 'none'
}

function patched(file: Buffer, at: number, ...bytes: readonly number[]): Buffer {
  const copy = Buffer.from(file)
  copy.set(bytes, at)
  return copy
}

test.each([
  ['no ELF', Buffer.alloc(100, 'x'), 'it is not an ELF file'],
  ['an empty file', Buffer.alloc(0), 'the ELF header is cut off after 0 bytes'],
  ['32 bits', patched(object(), 4, 1), 'the ELF header says that it is not for 64 bits'],
  ['big-endian', patched(object(), 5, 2), 'the ELF header says that it is big-endian; compile it with -target bpfel'],
  ['another machine', patched(object(), 18, 62), 'the ELF header says that it is for machine 62, not for BPF'],
  ['a cut table', object().subarray(0, -10), 'the table of sections is cut off'],
  [
    'a foreign relocation',
    object({ loadsConfig: { content: relocation(0, 2, 10) } }),
    'the section "cgroup/connect4" has a relocation of type 10 at byte 0',
  ],
  [
    'a relocation of something else',
    object({ loadsConfig: { content: relocation(16, 2) } }),
    'the section "cgroup/connect4" has a relocation that is not of a load at byte 16',
  ],
  [
    'a relocation that is not a map',
    object({ loadsConfig: { content: relocation(0, 3) } }),
    'the section "cgroup/connect4" uses "fl_connect4", which is not a map, at byte 0',
  ],
  [
    'a relocation without symbol',
    object({ loadsConfig: { content: relocation(0, 77) } }),
    'the section ".relcgroup/connect4" names a symbol that is not there',
  ],
  [
    'half a relocation',
    object({ loadsConfig: { content: Buffer.alloc(9) } }),
    'the section ".relcgroup/connect4" ends in the middle of a record',
  ],
  ['half a map', object({ maps: { content: Buffer.alloc(30) } }), 'the section "maps" ends in the middle of a record'],
  [
    'an unknown hook',
    object({ connect4: { name: 'cgroup/bind4' } }),
    'the section "cgroup/bind4" is for no hook that is known',
  ],
  ['no license', object({ license: { name: 'motto' } }), 'it has no section "license"'],
])('%s is refused with the section that is wrong', (_, file, problem) => {
  expect(refusal(file)).toBe(problem)
})

test('a section that ends behind the end of the file is named', () => {
  const file = object()
  // The size of the third section, in its header.
  const headers = Number(file.readBigUInt64LE(40))
  expect(refusal(patched(file, headers + 3 * 64 + 32, 0xff, 0xff, 0xff))).toBe(
    'the section "cgroup/connect4" is cut off',
  )
})

test('two functions in a section, or none, are refused: which one is the program?', () => {
  const code: BuiltSection = { name: 'cgroup/connect4', flags: codeFlags, content: allow }
  const [one, two] = ['one', 'two'].map((name): BuiltSymbol => ({ name, kind: 'function', section: 2 }))
  expect(refusal(buildElf([license, code], [one!, two!]))).toBe(
    'the section "cgroup/connect4" has two functions, one and two',
  )
  expect(refusal(buildElf([license, code], []))).toBe('the section "cgroup/connect4" has no function')
})

test('every file that is cut off is refused, and no changed byte leads to another error', () => {
  const file = object()
  for (let at = 0; at < file.length; at++) {
    expect(refusal(file.subarray(0, at))).not.toBe('none')
    for (const value of [0, 0x7f, 0xff]) refusal(patched(file, at, value))
  }
})
