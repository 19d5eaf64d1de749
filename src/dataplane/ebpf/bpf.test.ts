import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { closeSync, readdirSync, readlinkSync } from 'node:fs'
import { constants } from 'node:os'
import { loadLibc } from '../libc/load-libc.ts'
import type { Libc } from '../libc/load-libc.ts'
import { BpfAttributes, bpfCommand } from './bpf-attributes.ts'
import type { Bpf, MapEntry } from './bpf.ts'
import { bpfContract } from './bpf.contract.ts'
import { KernelBpf } from './kernel-bpf.ts'
import { KernelMap } from './kernel-map.ts'
import type { KernelLink, KernelProgram } from './kernel-handles.ts'
import { MemoryBpf } from './memory-bpf.ts'
import { MemoryKernel } from './memory-kernel.ts'
import { passingProgram } from './testing/images.ts'
import { allow } from './testing/object-builder.ts'
import { KernelSite, missingForBpf } from './testing/kernel-site.ts'

bpfContract('MemoryBpf', async () => {
  const kernel = new MemoryKernel({ bpffs: '/bpffs', cgroups: ['/cgroup', '/cgroup/child'] })
  return {
    bpf: new MemoryBpf(kernel),
    folder: '/bpffs/fairlead',
    cgroup: '/cgroup',
    child: '/cgroup/child',
    plainFolder: '/tmp',
    removeCgroup: (path) => kernel.removeCgroup(path),
    attachOther: async (cgroup, attachType, sharing) => {
      kernel.attachForeign(cgroup, attachType, { id: kernel.nextId(), name: 'fl_test_other', sharing })
      return 'fl_test_other'
    },
  }
})

const missing = await missingForBpf()
describe.skipIf(missing !== undefined)(`on the kernel${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  let kernel: KernelSite
  let sites = 0
  beforeAll(async () => {
    kernel = await KernelSite.open()
  })
  afterAll(() => kernel[Symbol.dispose]())

  bpfContract('KernelBpf', async () => {
    const cgroup = kernel.makeCgroup(`contract-${++sites}`)
    return {
      bpf: kernel.bpf,
      folder: `${kernel.bpffs}/site${sites}`,
      cgroup,
      child: kernel.makeCgroupBelow(cgroup, 'child'),
      plainFolder: kernel.plainFolder,
      removeCgroup: (path) => kernel.removeCgroup(path),
      attachOther: (...args) => kernel.attachOther(...args),
    }
  })

  test('without batches, each entry is a call of its own, with the same result', async () => {
    const libc = await loadLibc()
    const spec = { name: 'one_by_one', type: 'hash', keySize: 4, valueSize: 8, maxEntries: 50 } as const
    using map = await kernel.bpf.createMap(spec)
    await kernel.bpf.pin(map, `${kernel.bpffs}/one_by_one`)
    const fd = new BpfAttributes(libc, 16)
      .pointer(0, Buffer.from(`${kernel.bpffs}/one_by_one\0`))
      .call(bpfCommand.openPin)
    using slow = new KernelMap({ libc, fd, spec, hasBatches: false })
    const entries = Array.from({ length: 60 }, (_, key): MapEntry => [
      Uint8Array.of(key, 0, 0, 0),
      new Uint8Array(8).fill(key),
    ])
    await expect(slow.update(entries)).rejects.toMatchObject({ reason: 'full', done: 50 })
    const byKey = (list: readonly MapEntry[]) => [...list].toSorted(([a], [b]) => Buffer.compare(a, b))
    expect(byKey(await slow.entries())).toEqual(byKey(await map.entries()))
    expect(byKey(await slow.entries())).toEqual(entries.slice(0, 50))
    await slow.delete(entries.slice(1).map(([key]) => key))
    expect(await map.entries()).toEqual(entries.slice(0, 1))
    expect(await slow.entries()).toEqual(entries.slice(0, 1))
  })

  test('a rejected program is named, with the instruction and the reason', async () => {
    // r0 = *(u64 *)(r1 + 4096): far behind the end of what it may read.
    const instructions = Buffer.concat([Buffer.from('7910001000000000', 'hex'), allow])
    const image = { ...passingProgram('fl_bad', 'connect4'), instructions }
    await expect(kernel.bpf.loadProgram(image, new Map())).rejects.toMatchObject({
      name: 'BpfError',
      reason: 'rejected',
      message: expect.stringMatching(
        /^cannot load the program "fl_bad": the kernel refuses instruction 0: invalid bpf_context access off=4096 size=8 \(EACCES\)\n/,
      ) as string,
    })
    const sourceLines = [{ instruction: 0, file: 'bad.c', line: 12 }]
    await expect(kernel.bpf.loadProgram({ ...image, sourceLines }, new Map())).rejects.toThrow(
      'the kernel refuses bad.c:12, instruction 0: invalid bpf_context access',
    )
  })

  test('the kernel refuses socket storage without a description of its value', async () => {
    const attributes = new BpfAttributes(await loadLibc(), 72).u32(0, 24).u32(4, 4).u32(8, 64).u32(16, 1)
    expect(-attributes.call(bpfCommand.createMap)).toBe(constants.errno.EINVAL)
  })

  test('the kernel would take a program of another attach type', async () => {
    const cgroup = kernel.makeCgroup('update')
    using four = await kernel.bpf.loadProgram(passingProgram('fl_four', 'connect4'), new Map())
    using six = await kernel.bpf.loadProgram(passingProgram('fl_six', 'connect6'), new Map())
    using link = await kernel.bpf.attach(four, cgroup)
    const attributes = new BpfAttributes(await loadLibc(), 16)
      .u32(0, (link as KernelLink).fd)
      .u32(4, (six as KernelProgram).fd)
    expect(attributes.call(bpfCommand.updateLink)).toBe(0)
  })

  test('the file system with the pins of all others is not removed', async () => {
    await expect(kernel.bpf.unpin(kernel.bpffs)).rejects.toMatchObject({ reason: 'refused' })
    await expect(kernel.bpf.unpin(kernel.plainFolder)).rejects.toMatchObject({ reason: 'no-bpffs' })
  })

  test.each([
    ['a map that is opened', bpfCommand.info, 0, (bpf: Bpf, folder: string) => bpf.openMap(`${folder}/map`)],
    ['a link that is opened', bpfCommand.info, 0, (bpf: Bpf, folder: string) => bpf.openLink(`${folder}/link`)],
    ['a program', bpfCommand.info, 0, (bpf: Bpf) => bpf.loadProgram(passingProgram('fl_leak', 'connect4'), new Map())],
    ['the map of a fence', bpfCommand.createMap, 1, (bpf: Bpf) => bpf.fence()],
  ])('%s leaves no descriptor behind when it fails half way', async (_, command, successes, work) => {
    const folder = `${kernel.bpffs}/leak${++sites}`
    using map = await kernel.bpf.createMap({ name: 'leak', type: 'array', keySize: 4, valueSize: 8, maxEntries: 1 })
    using program = await kernel.bpf.loadProgram(passingProgram('fl_leak', 'connect4'), new Map())
    using link = await kernel.bpf.attach(program, kernel.makeCgroup(`leak-${sites}`))
    await kernel.bpf.pin(map, `${folder}/map`)
    await kernel.bpf.pin(link, `${folder}/link`)
    const libc = await loadLibc()
    let left: number = successes
    const failing: Libc = {
      ...libc,
      bpf: (number, bytes) => (number === command && left-- === 0 ? -constants.errno.EMFILE : libc.bpf(number, bytes)),
    }
    const before = descriptors()
    await expect(work(new KernelBpf(failing), folder)).rejects.toMatchObject({ errno: constants.errno.EMFILE })
    expect(descriptors()).toEqual(before)
  })

  test('an array that was made without shared memory is not opened', async () => {
    const libc = await loadLibc()
    const fd = new BpfAttributes(libc, 72).u32(0, 2).u32(4, 4).u32(8, 8).u32(12, 1).call(bpfCommand.createMap)
    const spec = { name: 'plain', type: 'array', keySize: 4, valueSize: 8, maxEntries: 1 } as const
    expect(() => new KernelMap({ libc, fd, spec })).toThrow(
      'cannot share the memory of the map "plain": the map was made without the flag that lets memory be shared (EINVAL)',
    )
    closeSync(fd)
  })
})

/** What this process has open of bpf(2), by kind. */
function descriptors(): readonly string[] {
  const kindOf = (fd: string) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      // That of the folder itself.
      return ''
    }
  }
  return readdirSync('/proc/self/fd')
    .map(kindOf)
    .filter((kind) => kind.includes('bpf'))
    .toSorted()
}
