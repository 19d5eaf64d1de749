/** The programs in the kernel and this daemon must mean the same bytes. The object tells where it looks. */
import { describe, expect, test } from 'vitest'
import { readElf, textAt } from '../../dataplane/ebpf/elf.ts'
import { readObject } from '../../dataplane/ebpf/read-object.ts'
import { configFlags, layout, layoutVersion, listBits, mapSpecs, serviceFlags } from './layout.ts'
import { builtObject, missingForObject } from './testing/built-object.ts'

const recordBytes = 48
const numberAt = 44

describe.skipIf(missingForObject !== '')(
  `the object${missingForObject && ` (needs ${missingForObject})`}`,
  async () => {
    const object = missingForObject === '' ? await builtObject() : Buffer.alloc(0)

    test('looks where the daemon writes', () => {
      const section = readElf(object).sections.find(({ name }) => name === 'layout')?.bytes ?? Buffer.alloc(0)
      const told: Record<string, number> = {}
      for (let at = 0; at < section.length; at += recordBytes)
        told[textAt(section, at)] = section.readUInt32LE(at + numberAt)
      expect(told).toEqual(flat({ ...layout, configFlags, serviceFlags, listBits, layout: { version: layoutVersion } }))
    })

    test('expects the maps that the daemon makes', () => {
      const types = { hash: 1, array: 2, 'socket-storage': 24 }
      const flags = { hash: 0, array: 0x400, 'socket-storage': 1 }
      const made = Object.entries(mapSpecs).map(([name, { type, keySize, valueSize, maxEntries }]) => ({
        name,
        type: types[type],
        keySize,
        valueSize,
        maxEntries,
        flags: flags[type],
      }))
      const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)
      expect([...readObject(object).maps].sort(byName)).toEqual(made.sort(byName))
    })

    test('has every program, under a license that the kernel accepts for them', () => {
      const { programs } = readObject(object)
      expect(programs.map(({ section, name }) => `${section} ${name}`).sort()).toEqual([
        'cgroup/connect4 fl_connect4',
        'cgroup/connect4-old fl_connect4_old',
        'cgroup/connect6 fl_connect6',
        'cgroup/connect6-old fl_connect6_old',
        'cgroup/getpeername4 fl_getpeername4',
        'cgroup/getpeername6 fl_getpeername6',
        'cgroup/recvmsg4 fl_recvmsg4',
        'cgroup/recvmsg6 fl_recvmsg6',
        'cgroup/sendmsg4 fl_sendmsg4',
        'cgroup/sendmsg6 fl_sendmsg6',
        'iter/bpf_sk_storage_map fl_stale',
      ])
      expect(new Set(programs.map(({ license }) => license))).toEqual(new Set(['Apache-2.0']))
    })

    test('has programs for kernels that cannot refuse with a reason', () => {
      const setRetval = 187
      const using = readObject(object).programs.filter(({ instructions }) => helpersOf(instructions).has(setRetval))
      expect(using.map(({ name }) => name).sort()).toEqual(['fl_connect4', 'fl_connect6'])
    })

    test('tells which line each instruction comes from, and no path of the machine that built it', () => {
      for (const { sourceLines } of readObject(object).programs) {
        expect(sourceLines.length).toBeGreaterThan(5)
        for (const { file } of sourceLines) expect(file).toMatch(/^(\.\/)?native\/ebpf\/\w+(\.bpf)?\.[ch]$/)
      }
      expect(object.includes(process.cwd())).toBe(false)
    })
  },
)

/** The numbers of the helpers that are called. */
function helpersOf(instructions: Uint8Array): ReadonlySet<number> {
  const [instructionBytes, call] = [8, 0x85]
  const code = Buffer.from(instructions)
  const helpers = new Set<number>()
  for (let at = 0; at < code.length; at += instructionBytes)
    if (code[at] === call) helpers.add(code.readUInt32LE(at + 4))
  return helpers
}

/** `{ frontendKey: { port: 16 } }` as `{ 'frontend_key.port': 16 }`. */
function flat(groups: Readonly<Record<string, Readonly<Record<string, number>>>>): Record<string, number> {
  const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return Object.fromEntries(
    Object.entries(groups).flatMap(([group, numbers]) =>
      Object.entries(numbers).map(([name, number]) => [`${snake(group)}.${snake(name)}`, number]),
    ),
  )
}
