/** The tests that every Bpf passes: in the kernel, or in memory. */
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { attachTypes } from './bpf.ts'
import type { AttachedProgram, AttachType, Bpf, BpfMap, MapEntry, MapSpec } from './bpf.ts'
import { passingProgram } from './testing/images.ts'

export interface BpfSite {
  readonly bpf: Bpf
  /** A folder for pins, which does not exist yet. */
  readonly folder: string
  /** Without programs of its own. */
  readonly cgroup: string
  /** Below it. */
  readonly child: string
  /** A folder that is neither a cgroup nor in a BPF file system. */
  readonly plainFolder: string
  readonly removeCgroup: (path: string) => void
  /** Attaches a program of somebody else, without a link, and returns its name. */
  readonly attachOther: (cgroup: string, attachType: AttachType, sharing: AttachedProgram['sharing']) => Promise<string>
}

const hash: MapSpec = { name: 'contract_hash', type: 'hash', keySize: 4, valueSize: 8, maxEntries: 100 }
const array: MapSpec = { name: 'contract_array', type: 'array', keySize: 4, valueSize: 16, maxEntries: 1000 }
const storage: MapSpec = { name: 'contract_store', type: 'socket-storage', keySize: 4, valueSize: 64, maxEntries: 0 }
const noMaps: ReadonlyMap<string, BpfMap> = new Map()

/** `make` is called for each test. What one leaves behind the next must not find. */
export function bpfContract(name: string, make: () => Promise<BpfSite>): void {
  describe(`${name} keeps the contract`, () => {
    let site: BpfSite
    let bpf: Bpf
    beforeEach(async () => {
      site = await make()
      bpf = site.bpf
    })

    test('a hash keeps what was put into it last', async () => {
      using map = await bpf.createMap(hash)
      await map.update([entry(1, 10), entry(2, 20), entry(3, 30)])
      await map.update([entry(2, 21), entry(4, 40)])
      expect(await sortedEntries(map)).toEqual([entry(1, 10), entry(2, 21), entry(3, 30), entry(4, 40)])
    })

    test('a hash tells the values of the keys that it is asked for, in their order', async () => {
      using map = await bpf.createMap(hash)
      await map.update([entry(1, 10), entry(2, 20), entry(3, 30)])
      expect(await map.lookup([keyOf(3), keyOf(4), keyOf(1)])).toEqual([valueOf(30), undefined, valueOf(10)])
      expect(await map.lookup([])).toEqual([])
    })

    test('a hash forgets what is deleted, and does not mind what was not there', async () => {
      using map = await bpf.createMap(hash)
      await map.update([1, 2, 3, 4, 5].map((key) => entry(key, key)))
      await map.delete([9, 1, 8, 4, 7].map(keyOf))
      await map.delete([])
      expect(await sortedEntries(map)).toEqual([entry(2, 2), entry(3, 3), entry(5, 5)])
    })

    test('an empty hash has no entries, and nothing can be added to it', async () => {
      using map = await bpf.createMap(hash)
      await map.update([])
      expect(await map.entries()).toEqual([])
    })

    test('thousands of entries are added and listed', async () => {
      const many = Array.from({ length: 10_000 }, (_, index) => entry(index, index * 7))
      using map = await bpf.createMap({ ...hash, maxEntries: many.length })
      await map.update(many)
      expect(await sortedEntries(map)).toEqual(many)
      await map.delete(many.slice(0, 9_990).map(([key]) => key))
      expect(await sortedEntries(map)).toEqual(many.slice(9_990))
    })

    test('entries that lie one after the other are added like any others, if there are as many keys as values', async () => {
      using map = await bpf.createMap(hash)
      const many = [entry(1, 10), entry(2, 20), entry(3, 30)]
      const keys = Buffer.concat(many.map(([key]) => key))
      const values = Buffer.concat(many.map(([, value]) => value))
      const refused = { name: 'BpfError', reason: 'refused' }
      await expect(map.update({ keys, values: values.subarray(8) })).rejects.toMatchObject(refused)
      await expect(map.update({ keys: keys.subarray(1), values })).rejects.toMatchObject(refused)
      expect(await map.entries()).toEqual([])
      await map.update({ keys, values })
      expect(await sortedEntries(map)).toEqual(many)
    })

    test('what has no room in a hash is refused with the number of those that had, which stay', async () => {
      using map = await bpf.createMap(hash)
      const many = Array.from({ length: 200 }, (_, index) => entry(index, index))
      await expect(map.update(many)).rejects.toMatchObject({ name: 'BpfError', reason: 'full', done: 100 })
      expect(await sortedEntries(map)).toEqual(many.slice(0, 100))
    })

    test('a full hash still takes other values for the keys that it has', async () => {
      using map = await bpf.createMap({ ...hash, maxEntries: 2 })
      await map.update([entry(1, 1), entry(2, 2)])
      await map.update([entry(1, 11)])
      expect(await sortedEntries(map)).toEqual([entry(1, 11), entry(2, 2)])
    })

    test('keys and values of another size are refused', async () => {
      using map = await bpf.createMap(hash)
      const [short, long] = [new Uint8Array(3), new Uint8Array(9)]
      const refused = { name: 'BpfError', reason: 'refused' }
      await expect(map.update([entry(1, 1), [short, valueOf(1)]])).rejects.toMatchObject(refused)
      await expect(map.update([entry(1, 1), [keyOf(1), long]])).rejects.toMatchObject(refused)
      await expect(map.delete([short])).rejects.toMatchObject(refused)
      await expect(map.lookup([short])).rejects.toMatchObject(refused)
      expect(await map.entries()).toEqual([])
    })

    test('an array is memory: zeros at first, then what is written', async () => {
      using map = await bpf.createMap(array)
      expect(map.bytes).toEqual(new Uint8Array(16_000))
      await map.fill(15_990, Uint8Array.of(1, 2, 3))
      await map.store(32, 0x1122334455667788n)
      expect([...map.bytes.subarray(15_990, 15_994)]).toEqual([1, 2, 3, 0])
      expect([...map.bytes.subarray(32, 40)]).toEqual([0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11])
    })

    test('a view of an array shows what is written later', async () => {
      using map = await bpf.createMap(array)
      const { bytes } = map
      await map.store(0, 7n)
      expect(bytes[0]).toBe(7)
    })

    test('writing beside an array, or a word across two, is refused', async () => {
      using map = await bpf.createMap(array)
      const refused = { name: 'BpfError', reason: 'refused' }
      await expect(map.fill(15_999, Uint8Array.of(1, 2))).rejects.toMatchObject(refused)
      await expect(map.fill(-1, Uint8Array.of(1))).rejects.toMatchObject(refused)
      await expect(map.store(16_000, 1n)).rejects.toMatchObject(refused)
      await expect(map.store(12, 1n)).rejects.toMatchObject(refused)
      expect(map.bytes).toEqual(new Uint8Array(16_000))
    })

    test('a map that was let go of is empty, and cannot be used', async () => {
      const [arrayMap, hashMap] = [await bpf.createMap(array), await bpf.createMap(hash)]
      const { bytes } = arrayMap
      for (const map of [arrayMap, hashMap, arrayMap]) map[Symbol.dispose]()
      expect(arrayMap.bytes).toHaveLength(0)
      expect(bytes[0]).toBe(0)
      await expect(arrayMap.store(0, 1n)).rejects.toMatchObject({ name: 'BpfError', reason: 'refused' })
      await expect(hashMap.entries()).rejects.toMatchObject({ name: 'BpfError', reason: 'refused' })
      await expect(hashMap.lookup([keyOf(1)])).rejects.toMatchObject({ name: 'BpfError', reason: 'refused' })
    })

    test('what is asked of the wrong type of map is refused', async () => {
      using hashMap = await bpf.createMap(hash)
      using arrayMap = await bpf.createMap(array)
      using storageMap = await bpf.createMap(storage)
      const refused = { name: 'BpfError', reason: 'refused' }
      await expect(arrayMap.entries()).rejects.toMatchObject(refused)
      await expect(arrayMap.lookup([keyOf(1)])).rejects.toMatchObject(refused)
      await expect(arrayMap.update([entry(1, 1)])).rejects.toMatchObject(refused)
      await expect(hashMap.store(0, 1n)).rejects.toMatchObject(refused)
      await expect(storageMap.entries()).rejects.toMatchObject(refused)
      expect(() => hashMap.bytes).toThrow(expect.objectContaining(refused))
    })

    test.each<Partial<MapSpec>>([
      { maxEntries: 0 },
      { keySize: 0 },
      { valueSize: 0 },
      { name: 'no spaces' },
      { type: 'array', keySize: 8 },
      { type: 'array', valueSize: 12 },
      { type: 'socket-storage', maxEntries: 1 },
    ])('a map that cannot be is refused: %o', async (wrong) => {
      await expect(bpf.createMap({ ...hash, ...wrong })).rejects.toMatchObject({ name: 'BpfError', reason: 'refused' })
    })

    test('a program is loaded with its maps, and refused without', async () => {
      using map = await bpf.createMap(array)
      const image = passingProgram('contract_uses', 'connect4', 'wanted')
      using program = await bpf.loadProgram(image, new Map([['wanted', map]]))
      expect(program.image).toBe(image)
      await expect(bpf.loadProgram(image, noMaps)).rejects.toMatchObject({
        name: 'BpfError',
        reason: 'refused',
        message: 'cannot load the program "contract_uses": it needs a map "wanted", and there is none',
      })
    })

    test.each(attachTypes)('a program is attached at %s, and nowhere else', async (attachType) => {
      using program = await bpf.loadProgram(passingProgram('contract_pass', attachType), noMaps)
      using link = await bpf.attach(program, site.cgroup)
      expect(link.attachType).toBe(attachType)
      expect(await bpf.linkState(link)).toMatchObject({ programId: program.id })
      expect(await bpf.attached(site.cgroup, attachType)).toEqual([
        { id: program.id, name: 'contract_pass', sharing: 'shared' },
      ])
      expect(await bpf.attached(site.cgroup, attachType === 'connect4' ? 'connect6' : 'connect4')).toEqual([])
    })

    test('a program of a cgroup below is not among those of this one, nor the other way round', async () => {
      using above = await bpf.loadProgram(passingProgram('contract_above', 'connect4'), noMaps)
      using below = await bpf.loadProgram(passingProgram('contract_below', 'connect4'), noMaps)
      using _above = await bpf.attach(above, site.cgroup)
      using _below = await bpf.attach(below, site.child)
      expect((await bpf.attached(site.cgroup, 'connect4')).map(({ id }) => id)).toEqual([above.id])
      expect((await bpf.attached(site.child, 'connect4')).map(({ id }) => id)).toEqual([below.id])
    })

    test('programs of one cgroup are told in the order in which they run', async () => {
      using first = await bpf.loadProgram(passingProgram('contract_1', 'connect4'), noMaps)
      using second = await bpf.loadProgram(passingProgram('contract_2', 'connect4'), noMaps)
      using _second = await bpf.attach(second, site.cgroup)
      using _first = await bpf.attach(first, site.cgroup)
      expect((await bpf.attached(site.cgroup, 'connect4')).map(({ id }) => id)).toEqual([second.id, first.id])
    })

    test('a link without a pin ends with its handle', async () => {
      using program = await bpf.loadProgram(passingProgram('contract_pass', 'connect4'), noMaps)
      const link = await bpf.attach(program, site.cgroup)
      link[Symbol.dispose]()
      link[Symbol.dispose]()
      expect(await bpf.attached(site.cgroup, 'connect4')).toEqual([])
    })

    test('a pinned link stays when its handle and its program are let go of, until it is unpinned', async () => {
      const program = await bpf.loadProgram(passingProgram('contract_pass', 'sendmsg6'), noMaps)
      const link = await bpf.attach(program, site.cgroup)
      const path = join(site.folder, 'links', 'sendmsg6')
      await bpf.pin(link, path)
      link[Symbol.dispose]()
      program[Symbol.dispose]()
      const opened = await bpf.openLink(path)
      expect(opened?.attachType).toBe('sendmsg6')
      expect(await bpf.attached(site.cgroup, 'sendmsg6')).toMatchObject([{ id: program.id }])
      opened?.[Symbol.dispose]()
      await bpf.unpin(path)
      // The kernel lets go of a removed file a little later.
      await vi.waitFor(async () => expect(await bpf.attached(site.cgroup, 'sendmsg6')).toEqual([]), { timeout: 10_000 })
    })

    test('a program takes the place of another in the same link', async () => {
      using one = await bpf.loadProgram(passingProgram('contract_one', 'connect4'), noMaps)
      using other = await bpf.loadProgram(passingProgram('contract_other', 'connect4'), noMaps)
      using link = await bpf.attach(one, site.cgroup)
      await bpf.replace(link, other)
      expect(await bpf.linkState(link)).toMatchObject({ programId: other.id })
      expect(await bpf.attached(site.cgroup, 'connect4')).toMatchObject([{ name: 'contract_other' }])
    })

    test('a program for another hook does not take the place', async () => {
      using four = await bpf.loadProgram(passingProgram('contract_four', 'connect4'), noMaps)
      using six = await bpf.loadProgram(passingProgram('contract_six', 'connect6'), noMaps)
      using link = await bpf.attach(four, site.cgroup)
      await expect(bpf.replace(link, six)).rejects.toMatchObject({
        name: 'BpfError',
        reason: 'refused',
        message: expect.stringContaining('the link is for connect4, the program for connect6') as string,
      })
      expect(await bpf.linkState(link)).toMatchObject({ programId: four.id })
    })

    test('a detached link has no state, and takes no program', async () => {
      using program = await bpf.loadProgram(passingProgram('contract_pass', 'connect4'), noMaps)
      using link = await bpf.attach(program, site.cgroup)
      await bpf.pin(link, join(site.folder, 'connect4'))
      await bpf.detach(link)
      await bpf.detach(link)
      expect(await bpf.attached(site.cgroup, 'connect4')).toEqual([])
      expect(await bpf.linkState(link)).toBeUndefined()
      await expect(bpf.replace(link, program)).rejects.toMatchObject({ name: 'BpfError', reason: 'gone' })
    })

    test('a link whose cgroup is removed has no state, and takes no program', async () => {
      using program = await bpf.loadProgram(passingProgram('contract_pass', 'connect4'), noMaps)
      using link = await bpf.attach(program, site.child)
      site.removeCgroup(site.child)
      await vi.waitFor(async () => expect(await bpf.linkState(link)).toBeUndefined(), { timeout: 10_000 })
      await expect(bpf.replace(link, program)).rejects.toMatchObject({ name: 'BpfError', reason: 'gone' })
      await expect(bpf.attach(program, site.child)).rejects.toMatchObject({ name: 'BpfError', reason: 'no-cgroup2' })
    })

    test('a link knows its cgroup', async () => {
      using program = await bpf.loadProgram(passingProgram('contract_pass', 'connect4'), noMaps)
      using here = await bpf.attach(program, site.cgroup)
      using below = await bpf.attach(program, site.child)
      using also = await bpf.attach(
        await bpf.loadProgram(passingProgram('contract_six', 'connect6'), noMaps),
        site.cgroup,
      )
      const [one, other, same] = [await bpf.linkState(here), await bpf.linkState(below), await bpf.linkState(also)]
      expect(one?.cgroupId).not.toBe(other?.cgroupId)
      expect(one?.cgroupId).toBe(same?.cgroupId)
    })

    test('a folder that is no cgroup takes no program, and has none', async () => {
      using program = await bpf.loadProgram(passingProgram('contract_pass', 'connect4'), noMaps)
      const refused = { name: 'BpfError', reason: 'no-cgroup2' }
      await expect(bpf.attach(program, site.plainFolder)).rejects.toMatchObject(refused)
      await expect(bpf.attach(program, join(site.cgroup, 'missing'))).rejects.toMatchObject(refused)
      await expect(bpf.attached(site.plainFolder, 'connect4')).rejects.toMatchObject(refused)
    })

    test('programs of others stay beside ours, and are named', async () => {
      const name = await site.attachOther(site.cgroup, 'connect4', 'shared')
      using program = await bpf.loadProgram(passingProgram('contract_pass', 'connect4'), noMaps)
      using _link = await bpf.attach(program, site.cgroup)
      expect((await bpf.attached(site.cgroup, 'connect4')).map((each) => each.name)).toEqual([name, 'contract_pass'])
    })

    test.each<AttachedProgram['sharing']>(['exclusive', 'overridable'])(
      'a neighbour that is %s leaves no room, and is named',
      async (sharing) => {
        const name = await site.attachOther(site.cgroup, 'connect6', sharing)
        expect(await bpf.attached(site.cgroup, 'connect6')).toMatchObject([{ name, sharing }])
        using six = await bpf.loadProgram(passingProgram('contract_six', 'connect6'), noMaps)
        using four = await bpf.loadProgram(passingProgram('contract_four', 'connect4'), noMaps)
        await expect(bpf.attach(six, site.cgroup)).rejects.toMatchObject({
          name: 'BpfError',
          reason: 'in-use',
          message: expect.stringContaining(`"${name}" is attached to ${site.cgroup} and tolerates no other`) as string,
        })
        using _link = await bpf.attach(four, site.cgroup)
      },
    )

    test('a neighbour that is exclusive above leaves no room below; one that is overridable does', async () => {
      await site.attachOther(site.cgroup, 'connect4', 'exclusive')
      await site.attachOther(site.cgroup, 'connect6', 'overridable')
      using four = await bpf.loadProgram(passingProgram('contract_four', 'connect4'), noMaps)
      using six = await bpf.loadProgram(passingProgram('contract_six', 'connect6'), noMaps)
      await expect(bpf.attach(four, site.child)).rejects.toMatchObject({ name: 'BpfError', reason: 'in-use' })
      using _link = await bpf.attach(six, site.child)
    })

    test('an iterator is run over the storage of sockets, and attached nowhere', async () => {
      using map = await bpf.createMap(storage)
      using other = await bpf.createMap(hash)
      using iterator = await bpf.loadProgram(passingProgram('contract_walk', 'iterator'), noMaps)
      using hook = await bpf.loadProgram(passingProgram('contract_pass', 'connect4'), noMaps)
      await bpf.iterate(iterator, map)
      const refused = { name: 'BpfError', reason: 'refused' }
      await expect(bpf.attach(iterator, site.cgroup)).rejects.toMatchObject(refused)
      await expect(bpf.iterate(hook, map)).rejects.toMatchObject(refused)
      await expect(bpf.iterate(iterator, other)).rejects.toMatchObject(refused)
    })

    test('a pinned map outlives its handle, with all that is in it', async () => {
      const [hashPath, arrayPath] = [join(site.folder, 'maps', 'hash'), join(site.folder, 'maps', 'array')]
      const [first, memory] = [await bpf.createMap(hash), await bpf.createMap(array)]
      await first.update([entry(1, 1)])
      await memory.store(8, 5n)
      await bpf.pin(first, hashPath)
      await bpf.pin(memory, arrayPath)
      first[Symbol.dispose]()
      memory[Symbol.dispose]()
      using again = await bpf.openMap(hashPath)
      using memoryAgain = await bpf.openMap(arrayPath)
      expect(await again?.entries()).toEqual([entry(1, 1)])
      expect(memoryAgain?.bytes[8]).toBe(5)
    })

    test('two handles of one map show the same', async () => {
      using one = await bpf.createMap(array)
      const path = join(site.folder, 'array')
      await bpf.pin(one, path)
      using other = await bpf.openMap(path)
      await one.store(0, 1n)
      await other?.store(8, 2n)
      expect([one.bytes[8], other?.bytes[0]]).toEqual([2, 1])
    })

    test.each([hash, array, storage])('a map from a pin is described as it was made: %o', async (spec) => {
      using map = await bpf.createMap({ ...spec, name: 'a_name_of_twenty_one' })
      const path = join(site.folder, 'map')
      await bpf.pin(map, path)
      using opened = await bpf.openMap(path)
      expect(opened?.spec).toEqual({ ...spec, name: 'a_name_of_twent' })
      expect(map.spec).toEqual(opened?.spec)
    })

    test('pins are listed by path, and removed one by one or all together', async () => {
      using map = await bpf.createMap(hash)
      expect(await bpf.pinned(site.folder)).toEqual([])
      for (const path of ['b', 'maps/y', 'maps/x', 'a/b/c']) await bpf.pin(map, join(site.folder, path))
      expect(await bpf.pinned(site.folder)).toEqual(['a/b/c', 'b', 'maps/x', 'maps/y'])
      expect(await bpf.pinned(join(site.folder, 'maps'))).toEqual(['x', 'y'])
      await bpf.unpin(join(site.folder, 'maps', 'x'))
      await bpf.unpin(join(site.folder, 'maps', 'x'))
      expect(await bpf.pinned(site.folder)).toEqual(['a/b/c', 'b', 'maps/y'])
      await bpf.unpin(site.folder)
      expect(await bpf.pinned(site.folder)).toEqual([])
    })

    test('a pin is not overwritten, and has its place and its name', async () => {
      using map = await bpf.createMap(hash)
      const path = join(site.folder, 'map')
      await bpf.pin(map, path)
      await expect(bpf.pin(map, path)).rejects.toMatchObject({ name: 'BpfError', reason: 'exists' })
      const misplaced = { name: 'BpfError', reason: 'no-bpffs' }
      await expect(bpf.pin(map, join(site.folder, 'with.dot'))).rejects.toMatchObject(misplaced)
      await expect(bpf.pin(map, join(site.folder, 'with.dot', 'map'))).rejects.toMatchObject(misplaced)
      await expect(bpf.pin(map, join(site.plainFolder, 'map'))).rejects.toMatchObject(misplaced)
    })

    test('what is not pinned is not opened, nor is what is something else', async () => {
      using map = await bpf.createMap(hash)
      using program = await bpf.loadProgram(passingProgram('contract_pass', 'connect4'), noMaps)
      using link = await bpf.attach(program, site.cgroup)
      const [mapPath, linkPath] = [join(site.folder, 'map'), join(site.folder, 'link')]
      await bpf.pin(map, mapPath)
      await bpf.pin(link, linkPath)
      expect(await bpf.openMap(join(site.folder, 'missing'))).toBeUndefined()
      expect(await bpf.openLink(join(site.folder, 'missing', 'too'))).toBeUndefined()
      const refused = { name: 'BpfError', reason: 'refused' }
      await expect(bpf.openMap(linkPath)).rejects.toMatchObject(refused)
      await expect(bpf.openLink(mapPath)).rejects.toMatchObject(refused)
    })

    test('waiting for the programs that run has an end', async () => {
      await bpf.fence()
      await bpf.fence()
      expect(await bpf.pinned(site.folder)).toEqual([])
    })
  })
}

function keyOf(number: number): Uint8Array {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, number)
  return bytes
}

function valueOf(number: number): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setUint32(0, number)
  return bytes
}

const entry = (key: number, value: number): MapEntry => [keyOf(key), valueOf(value)]

async function sortedEntries(map: BpfMap): Promise<readonly MapEntry[]> {
  const entries = await map.entries()
  const { keys, values } = await map.packedEntries()
  expect(Buffer.concat(entries.map(([key]) => key)).equals(keys)).toBe(true)
  expect(Buffer.concat(entries.map(([, value]) => value)).equals(values)).toBe(true)
  const parts = [await map.packedPart()]
  for (let next; (next = parts.at(-1)?.next) !== undefined;) parts.push(await map.packedPart(next))
  expect(Buffer.concat(parts.map((part) => part.keys)).equals(keys)).toBe(true)
  expect(Buffer.concat(parts.map((part) => part.values)).equals(values)).toBe(true)
  return [...entries].toSorted(([a], [b]) => Buffer.compare(a, b))
}
