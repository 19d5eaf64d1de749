import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { bpfErrorFrom } from '../../../dataplane/ebpf/bpf-error.ts'
import type { Bpf } from '../../../dataplane/ebpf/bpf.ts'
import { MemoryBpf } from '../../../dataplane/ebpf/memory-bpf.ts'
import { MemoryKernel } from '../../../dataplane/ebpf/memory-kernel.ts'
import { findCgroup } from '../../../dataplane/ebpf/places.ts'
import { features } from '../../../dataplane/ebpf/probes.ts'
import { bpffs, cgroup2, memoryPlaceFiles, onlyVersion1 } from '../../../dataplane/ebpf/testing/memory-place-files.ts'
import type { MemoryPlaces } from '../../../dataplane/ebpf/testing/memory-place-files.ts'
import { allow, buildElf, codeFlags } from '../../../dataplane/ebpf/testing/object-builder.ts'
import { MemorySockets } from '../../../dataplane/sock-diag/memory-sockets.ts'
import { SocketsError } from '../../../dataplane/sock-diag/sockets.ts'
import { memoryHost } from '../../host/testing/memory-host.ts'
import { setupWith } from '../testing/setup.ts'
import { readEbpf } from './ebpf.ts'

const { signal } = new AbortController()

const object = buildElf(
  [
    { name: 'license', content: Buffer.from('Apache-2.0\0') },
    { name: 'cgroup/connect4', flags: codeFlags, content: allow },
  ],
  [{ name: 'fl_connect4', kind: 'function', section: 2 }],
)

/** No folder of this machine, so links are not tried. */
const root = '/only-in-memory/cgroup'
const allYes = { links: 'unknown' }

const healthy: MemoryPlaces = {
  mountinfo: `35 24 0:30 / ${root} rw - cgroup2 cgroup2 rw\n`,
  folders: { [root]: cgroup2, '/sys/fs/bpf': bpffs },
  inodes: { [root]: 1n },
}
const withoutBpffs: MemoryPlaces = { ...healthy, folders: { [root]: cgroup2, '/sys/fs/bpf': 1 } }
const version1: MemoryPlaces = { mountinfo: onlyVersion1, folders: { '/sys/fs/bpf': bpffs } }

interface Machine {
  readonly places?: MemoryPlaces
  readonly kernel?: MemoryKernel
  readonly bpf?: Bpf
  readonly sockets?: MemorySockets
  /** Why no socket of others can be looked at. */
  readonly socketsError?: Error
  readonly mayMount?: boolean
  readonly flags?: readonly string[]
}

const memoryKernel = () => new MemoryKernel({ bpffs: '/sys/fs/bpf', cgroups: [root] })

/** What the doctor tells, and how each feature was answered. Whatever the machine is like, it has not been changed. */
async function examined({
  places = healthy,
  kernel = memoryKernel(),
  bpf = new MemoryBpf(kernel),
  sockets = new MemorySockets(),
  socketsError,
  mayMount = true,
  flags = [],
}: Machine) {
  const placeFiles = memoryPlaceFiles(places)
  const made: string[] = []
  const host = memoryHost({
    files: { '/proc/self/status': `CapEff:\t${mayMount ? '000001ffffffffff' : '000000c000001000'}\n` },
    kernelRelease: () => '6.8.0',
    readEbpfObject: async () => object,
    openBpf: async () => bpf,
    openSockets: () => (socketsError === undefined ? Promise.resolve(sockets) : Promise.reject(socketsError)),
    openPlaceFiles: async () => ({ ...placeFiles, makeFolder: async (path) => void made.push(path) }),
  })
  const { obstacles, answers } = await readEbpf(host, await setupWith(['--proxy-mode=ebpf', ...flags]), signal)
  expect([...placeFiles.done, ...made]).toEqual([])
  expect(answers.map(({ feature }) => feature)).toEqual(socketsError === undefined ? features : [])
  const notYes = answers.filter(({ answer }) => answer !== 'yes').map(({ feature, answer }) => [feature.name, answer])
  return { obstacles, notYes: Object.fromEntries(notYes) as unknown }
}

test('on a healthy machine nothing is in the way', async () => {
  expect(await examined({})).toEqual({ obstacles: [], notYes: allYes })
  expect(await examined({ mayMount: false })).toEqual({ obstacles: [], notYes: allYes })
})

test('a BPF file system that is missing is in the way of those only who may not mount one', async () => {
  expect(await examined({ places: withoutBpffs })).toEqual({ obstacles: [], notYes: allYes })
  expect(await examined({ places: withoutBpffs, mayMount: false })).toEqual({
    obstacles: [expect.stringContaining('there is no BPF file system, nor can it be mounted (EPERM)')],
    notYes: allYes,
  })
})

test('so is cgroup v2 on a machine with version 1', async () => {
  expect(await examined({ places: version1 })).toEqual({ obstacles: [], notYes: allYes })
  expect(await examined({ places: version1, mayMount: false })).toEqual({
    obstacles: [expect.stringContaining('no cgroup v2 is mounted, nor can it be (EPERM)')],
    notYes: allYes,
  })
})

test('what would be mounted is judged as the start judges it', async () => {
  const links = { '/proc/self/ns/net': 'net:[2]', '/proc/1/ns/net': 'net:[1]' }
  const [reason] = (await examined({ places: { ...version1, links } })).obstacles
  const own = '/run/fairlead/cgroup2'
  const started = findCgroup(memoryPlaceFiles({ ...version1, links, inodes: { [own]: 1n } }))
  await expect(started).rejects.toThrow(reason ?? 'the doctor found nothing')
})

test('one obstacle does not hide another, nor features that are missing', async () => {
  const kernel = memoryKernel()
  kernel.lacks.add('getpeername4')
  kernel.attachForeign(root, 'connect4', { id: 101, name: 'cil_sock4_conne', sharing: 'shared' })
  kernel.attachForeign(root, 'connect6', { id: 102, name: 'guard', sharing: 'exclusive' })
  const sockets = Object.assign(new MemorySockets(), { ownNamespace: async () => undefined })
  const flags = ['--ebpf-scope=host']
  expect(await examined({ places: withoutBpffs, kernel, sockets, mayMount: false, flags })).toEqual({
    obstacles: [
      expect.stringContaining('there is no BPF file system'),
      expect.stringContaining('"cil_sock4_conne" of Cilium at connect4 of /only-in-memory/cgroup balances'),
      expect.stringContaining('"guard" at connect6 of /only-in-memory/cgroup leaves no room for other programs'),
      expect.stringContaining('this kernel does not tell network namespaces apart'),
    ],
    notYes: { ...allYes, 'peer-names': 'no', 'namespace-cookies': 'no' },
  })
  expect((await examined({ places: version1, mayMount: false, sockets, flags })).obstacles).toHaveLength(2)
})

test('what keeps sockets from being looked at does not hide that places are missing', async () => {
  const socketsError = new SocketsError('not-permitted', 'sockets of other namespaces cannot be looked at')
  expect((await examined({ places: withoutBpffs, mayMount: false, socketsError })).obstacles).toEqual([
    expect.stringContaining('there is no BPF file system'),
    'sockets of other namespaces cannot be looked at',
  ])
})

test('a neighbour is named beside a feature that is needed and missing', async () => {
  const kernel = memoryKernel()
  kernel.lacks.add('socket-storage')
  kernel.attachForeign(root, 'connect4', { id: 101, name: 'cil_sock4_conne', sharing: 'shared' })
  expect(await examined({ kernel })).toMatchObject({
    obstacles: [expect.stringContaining('cil_sock4_conne')],
    notYes: { 'socket-storage': 'no' },
  })
})

test('without any right nothing is known of the kernel, and neighbours are not asked for', async () => {
  const refusal = bpfErrorFrom(constants.errno.EPERM, 'load-program', 'use bpf(2)')
  const refuse = () => Promise.reject(refusal)
  const refusing = { createMap: refuse, loadProgram: refuse, hasBatches: refuse, attached: refuse }
  const bpf = Object.assign(new MemoryBpf(memoryKernel()), refusing)
  const { obstacles, notYes } = await examined({ places: withoutBpffs, bpf, mayMount: false })
  expect(obstacles).toEqual([expect.stringContaining('there is no BPF file system')])
  expect(notYes).toMatchObject({ hooks: 'not allowed', programs: 'not allowed', links: 'unknown' })
})
