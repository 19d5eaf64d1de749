import { expect, test } from 'vitest'
import { BpfError } from '../../dataplane/ebpf/bpf-error.ts'
import { MemoryBpf } from '../../dataplane/ebpf/memory-bpf.ts'
import { MemoryKernel } from '../../dataplane/ebpf/memory-kernel.ts'
import type { ProgramImage } from '../../dataplane/ebpf/program-image.ts'
import { layout } from './layout.ts'
import { findLeftovers } from './leftovers.ts'

const pins = '/sys/fs/bpf/fairlead'
const ownNamespace = async () => 7n
const never = new AbortController().signal
const image: ProgramImage = {
  name: 'fl_connect4',
  section: 'cgroup/connect4',
  attachType: 'connect4',
  license: 'Apache-2.0',
  instructions: new Uint8Array(16),
  mapLoads: [],
  sourceLines: [],
}

async function afterARun(hostNetns = 0n): Promise<MemoryKernel> {
  const kernel = new MemoryKernel({ cgroups: ['/cgroup'], bpffs: '/sys/fs/bpf' })
  using bpf = new MemoryBpf(kernel)
  const map = await bpf.createMap({ name: 'fl_config', type: 'array', keySize: 4, valueSize: 64, maxEntries: 1 })
  await map.store(layout.config.hostNetns, hostNetns)
  await bpf.pin(map, `${pins}/1/maps/config`)
  await bpf.pin(await bpf.attach(await bpf.loadProgram(image, new Map()), '/cgroup'), `${pins}/1/links/connect4`)
  return kernel
}

test.each([
  ['of this node', 7n],
  ['of a kernel that does not number network namespaces', 0n],
])('what is pinned is found, detached and removed: %s', async (_, hostNetns) => {
  const kernel = await afterARun(hostNetns)
  using bpf = new MemoryBpf(kernel)
  const held = await bpf.openLink(`${pins}/1/links/connect4`)
  const { removals, problems } = await findLeftovers({ openBpf: async () => bpf, pins, ownNamespace })
  expect(problems).toEqual([])
  expect(removals.flatMap(({ leftovers }) => leftovers.map(({ what, modes }) => [what, modes]))).toEqual([
    [`bpf: ${pins}/1/links/connect4`, ['ebpf']],
    [`bpf: ${pins}/1/maps/config`, ['ebpf']],
  ])
  expect(await bpf.attached('/cgroup', 'connect4')).toHaveLength(1)
  for (const removal of removals) await removal.remove(removal.leftovers, never)
  expect(await bpf.pinned(pins)).toEqual([])
  // At once, although a process still holds the link.
  expect(await bpf.attached('/cgroup', 'connect4')).toEqual([])
  held?.[Symbol.dispose]()
})

test.each([
  ['a hash', { name: 'fl_strange', type: 'hash', keySize: 4, valueSize: 64, maxEntries: 1 }],
  ['smaller', { name: 'fl_strange', type: 'array', keySize: 4, valueSize: 8, maxEntries: 1 }],
] as const)(
  'a config that is %s says nothing of whose it is, and keeps nothing from being removed',
  async (_, spec) => {
    using bpf = new MemoryBpf(await afterARun())
    await bpf.unpin(`${pins}/1/maps/config`)
    await bpf.pin(await bpf.createMap(spec), `${pins}/1/maps/config`)
    const { removals } = await findLeftovers({ openBpf: async () => bpf, pins, ownNamespace })
    for (const removal of removals) await removal.remove(removal.leftovers, never)
    expect(await bpf.pinned(pins)).toEqual([])
  },
)

test('nor does one whose memory cannot be shared', async () => {
  using bpf = new MemoryBpf(await afterARun())
  bpf.openMap = async (path) => {
    throw new BpfError('unsupported', `cannot map the memory of the map at ${path}`)
  }
  const { removals } = await findLeftovers({ openBpf: async () => bpf, pins, ownNamespace })
  expect(removals).toHaveLength(1)
})

test('what another node pinned is named, and left alone', async () => {
  using bpf = new MemoryBpf(await afterARun(8n))
  const { removals, problems, notes } = await findLeftovers({ openBpf: async () => bpf, pins, ownNamespace })
  expect({ removals, problems }).toEqual({ removals: [], problems: [] })
  expect(notes).toEqual([
    'the programs at sockets that are pinned in /sys/fs/bpf/fairlead belong to another network namespace; ' +
      'if that one is gone, remove them with: rm -r /sys/fs/bpf/fairlead/1',
  ])
})

test('nothing is left where nothing is pinned', async () => {
  using bpf = new MemoryBpf(new MemoryKernel({ cgroups: [], bpffs: '/sys/fs/bpf' }))
  expect(await findLeftovers({ openBpf: async () => bpf, pins, ownNamespace })).toEqual({ removals: [], problems: [] })
})

test('nor where the kernel has no bpf(2)', async () => {
  const openBpf = () => Promise.reject(new BpfError('unsupported', 'this kernel has no bpf(2)'))
  expect(await findLeftovers({ openBpf, pins, ownNamespace })).toEqual({ removals: [], problems: [] })
})

test.each([pins, '/sys/fs/bpf'])('what others have pinned in the same folder stays: %s', async (folder) => {
  using bpf = new MemoryBpf(await afterARun())
  if (folder !== pins)
    for (const path of ['maps/config', 'links/connect4']) {
      using object = path.startsWith('maps')
        ? await bpf.openMap(`${pins}/1/${path}`)
        : await bpf.openLink(`${pins}/1/${path}`)
      await bpf.unpin(`${pins}/1/${path}`)
      await bpf.pin(object!, `${folder}/1/${path}`)
    }
  using link = await bpf.attach(await bpf.loadProgram({ ...image, name: 'guard' }, new Map()), '/cgroup')
  await bpf.pin(link, `${folder}/guard/links/connect4`)
  await bpf.pin(link, `${folder}/guard/1/links/connect4`)
  // That of another node, as if.
  const map = await bpf.createMap({ name: 'theirs', type: 'array', keySize: 4, valueSize: 64, maxEntries: 1 })
  await map.store(layout.config.hostNetns, 8n)
  await bpf.pin(map, `${folder}/guard/maps/config`)

  const { removals, notes } = await findLeftovers({ openBpf: async () => bpf, pins: folder, ownNamespace })
  expect(notes).toBeUndefined()
  expect(removals.flatMap(({ leftovers }) => leftovers.map(({ what }) => what))).toEqual([
    `bpf: ${folder}/1/links/connect4`,
    `bpf: ${folder}/1/maps/config`,
  ])
  for (const removal of removals) await removal.remove(removal.leftovers, never)
  expect(await bpf.pinned(folder)).toEqual(['guard/1/links/connect4', 'guard/links/connect4', 'guard/maps/config'])
  expect((await bpf.attached('/cgroup', 'connect4')).map(({ name }) => name)).toEqual(['guard'])
})
