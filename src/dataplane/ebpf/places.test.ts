import { constants } from 'node:os'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadLibc } from '../libc/load-libc.ts'
import { machineFiles } from './machine-files.ts'
import { cgroup2Mounts, ensureBpffs, findCgroup, seesNamespacesOfPods } from './places.ts'
import { missingForBpf } from './testing/kernel-site.ts'
import { bpffs, cgroup2, memoryPlaceFiles, onlyVersion1, tmpfs, unified } from './testing/memory-place-files.ts'

const namedMount = `${unified}97 24 0:25 /netns /run/netns ro master:5 - tmpfs tmpfs rw\n`

test('the mounts of cgroup v2 are found beside others', () => {
  expect(cgroup2Mounts(unified + onlyVersion1)).toEqual(['/sys/fs/cgroup'])
  expect(cgroup2Mounts('41 31 0:38 / /sys/fs/my\\040cgroup rw - cgroup2 none rw')).toEqual(['/sys/fs/my cgroup'])
  expect(cgroup2Mounts(onlyVersion1)).toEqual([])
})

test('the root of all cgroups is where programs go', async () => {
  const files = memoryPlaceFiles({ folders: { '/sys/fs/cgroup': cgroup2 }, inodes: { '/sys/fs/cgroup': 1n } })
  expect(await findCgroup(files)).toEqual({ path: '/sys/fs/cgroup', id: 1n, isRoot: true, isMounted: false })
  expect(files.done).toEqual([])
})

test('on a machine with version 1 only, version 2 is mounted', async () => {
  const own = '/run/fairlead/cgroup2'
  const files = memoryPlaceFiles({ mountinfo: onlyVersion1, inodes: { [own]: 1n } })
  expect(await findCgroup(files)).toEqual({ path: own, id: 1n, isRoot: true, isMounted: true })
})

test('a container that may not mount it learns what to mount', async () => {
  const files = memoryPlaceFiles({ mountinfo: onlyVersion1, mountErrno: constants.errno.EPERM })
  await expect(findCgroup(files)).rejects.toMatchObject({
    reason: 'no-cgroup2',
    message:
      "cannot attach programs: no cgroup v2 is mounted, nor can it be (EPERM); mount the host's /sys/fs/cgroup into the container, and cgroup2 on a host that has version 1 only",
  })
})

test('so does one that cannot even make the folder for it', async () => {
  const readOnly = Object.assign(new Error('EROFS: read-only file system'), { errno: -constants.errno.EROFS })
  const files = { ...memoryPlaceFiles({ mountinfo: onlyVersion1 }), makeFolder: () => Promise.reject(readOnly) }
  await expect(findCgroup(files)).rejects.toMatchObject({
    reason: 'no-cgroup2',
    message: expect.stringContaining('no cgroup v2 is mounted, nor can it be (EROFS)') as string,
  })
})

test("a container's own cgroup is refused: the pods are not in it", async () => {
  const files = memoryPlaceFiles({ folders: { '/sys/fs/cgroup': cgroup2 } })
  await expect(findCgroup(files)).rejects.toThrow('it is the cgroup of this container, without pods in it')
})

test.each(['/sys/fs/cgroup/kubepods.slice', '/sys/fs/cgroup/kubelet.slice/kubelet-kubepods.slice'])(
  'the cgroup of a node that is a container has its pods below it: %s',
  async (pods) => {
    const folders = { '/sys/fs/cgroup': cgroup2, [dirname(pods)]: cgroup2, [pods]: cgroup2 }
    expect(await findCgroup(memoryPlaceFiles({ folders }))).toMatchObject({
      path: '/sys/fs/cgroup',
      isRoot: false,
      id: 77n,
    })
  },
)

test('a node in a container that sees the root of the whole machine is refused: other nodes are in it, too', async () => {
  const links = { '/proc/self/ns/net': 'net:[2]', '/proc/1/ns/net': 'net:[1]' }
  const files = memoryPlaceFiles({ folders: { '/sys/fs/cgroup': cgroup2 }, inodes: { '/sys/fs/cgroup': 1n }, links })
  await expect(findCgroup(files)).rejects.toThrow('it has the processes of other nodes, too')
})

test('what the user names is taken if it is a cgroup at all', async () => {
  const files = memoryPlaceFiles({ folders: { '/mine': cgroup2, '/plain': tmpfs } })
  expect(await findCgroup(files, '/mine')).toMatchObject({ path: '/mine', isRoot: false })
  const refused = { name: 'BpfError', reason: 'no-cgroup2' }
  await expect(findCgroup(files, '/plain')).rejects.toMatchObject(refused)
  await expect(findCgroup(files, '/plain')).rejects.toThrow('/plain: it is not a folder of cgroup v2')
  await expect(findCgroup(files, '/missing')).rejects.toMatchObject(refused)
  await expect(findCgroup(files, '/missing')).rejects.toThrow('/missing: there is no such folder')
})

test('a BPF file system that is there is used, also before the folder exists', async () => {
  const files = memoryPlaceFiles({ folders: { '/sys/fs/bpf': bpffs } })
  expect(await ensureBpffs(files, '/sys/fs/bpf/fairlead')).toEqual({ isMounted: false })
  expect(files.done).toEqual([])
})

test.each([
  ['/sys/fs/bpf', { folders: { '/sys/fs/bpf': bpffs }, inodes: { '/sys/fs/bpf': 1n } }],
  ['/run/bpf', { folders: { '/run/bpf': bpffs }, inodes: { '/run/bpf': 1n } }],
  ['/sys/fs/bpf', { folders: { '/sys/fs': 1, '/sys/fs/bpf': 1 } }],
  ['/sys/fs/bpf/', { folders: { '/': 1 } }],
] as const)('the BPF file system itself is refused as the folder for pins: %s', async (pins, places) => {
  const files = memoryPlaceFiles(places)
  await expect(ensureBpffs(files, pins)).rejects.toMatchObject({
    reason: 'no-bpffs',
    message: `cannot pin programs and maps in ${pins}: it is the BPF file system itself, where others pin, too; give a folder in it with --ebpf-pins, such as ${pins.replace(/\/$/, '')}/fairlead`,
  })
  expect(files.done).toEqual([])
})

test('one that is missing is mounted', async () => {
  const files = memoryPlaceFiles({ folders: { '/sys/fs': 1, '/sys/fs/bpf': 1 } })
  expect(await ensureBpffs(files, '/sys/fs/bpf/fairlead')).toEqual({ isMounted: true })
  expect(files.done).toEqual(['bpf at /sys/fs/bpf'])
})

test('nothing is mounted over any other folder', async () => {
  const files = memoryPlaceFiles({ folders: { '/var/lib': 1, '/proc': 1 } })
  for (const pins of ['/var/lib/fairlead', '/proc/fairlead'])
    await expect(ensureBpffs(files, pins)).rejects.toMatchObject({
      reason: 'no-bpffs',
      message: expect.stringContaining('is not in a BPF file system') as string,
    })
  expect(files.done).toEqual([])
})

test('a container that has the root of the host mounted, too, uses that', async () => {
  const mountinfo = `${unified}36 24 0:30 / /host/sys/fs/cgroup rw - cgroup2 cgroup2 rw\n`
  const folders = { '/sys/fs/cgroup': cgroup2, '/host/sys/fs/cgroup': cgroup2 }
  const files = memoryPlaceFiles({ mountinfo, folders, inodes: { '/host/sys/fs/cgroup': 1n } })
  expect(await findCgroup(files)).toMatchObject({ path: '/host/sys/fs/cgroup', isRoot: true })
})

test('a mount that another one hides is none', async () => {
  const mountinfo = `${unified}36 24 0:30 / /host rw - cgroup2 cgroup2 rw\n`
  const inodes = { '/sys/fs/cgroup': 1n, '/host': 1n, '/run/fairlead/cgroup2': 1n }
  const folders = { '/sys/fs/cgroup': tmpfs }
  const one = memoryPlaceFiles({ mountinfo, folders: { ...folders, '/host': cgroup2 }, inodes })
  expect(await findCgroup(one)).toMatchObject({ path: '/host', isMounted: false })
  const none = memoryPlaceFiles({ mountinfo, folders, inodes })
  expect(await findCgroup(none)).toMatchObject({ path: '/run/fairlead/cgroup2', isMounted: true })
})

test('where it cannot be mounted, the message says what to mount', async () => {
  const message =
    "cannot pin programs and maps in /sys/fs/bpf/fairlead: there is no BPF file system, nor can it be mounted (EPERM); mount one on the node (mount -t bpf bpf /sys/fs/bpf), and in a container the node's, with mountPropagation HostToContainer"
  const files = memoryPlaceFiles({ folders: { '/sys/fs/bpf': 1 }, mountErrno: constants.errno.EPERM })
  await expect(ensureBpffs(files, '/sys/fs/bpf/fairlead')).rejects.toMatchObject({ reason: 'no-bpffs', message })
  const without = memoryPlaceFiles({ folders: { '/': 1 } })
  await expect(ensureBpffs(without, '/sys/fs/bpf/fairlead')).rejects.toThrow('/sys/fs/bpf does not exist')
  expect(without.done).toEqual([])
})

test('the namespaces of pods are seen by their names, or by the processes of the host', async () => {
  const alone = { '/proc/1/ns/net': 'net:[1]', '/proc/7/ns/net': 'net:[1]', '/proc/1': '', '/proc/7': '' }
  expect(await seesNamespacesOfPods(memoryPlaceFiles({ links: alone }))).toBe(false)
  expect(await seesNamespacesOfPods(memoryPlaceFiles({ links: { ...alone, '/proc/7/ns/net': 'net:[2]' } }))).toBe(true)
  expect(await seesNamespacesOfPods(memoryPlaceFiles({ folders: { '/run/netns/pod': 1 } }))).toBe(true)
  expect(await seesNamespacesOfPods(memoryPlaceFiles({}))).toBe(false)
})

test.each([
  ['whoever sees all processes of the machine', { links: { '/proc/self/ns/pid': 'pid:[4026531836]' } }, true],
  ['a container that sees its own only', { links: { '/proc/self/ns/pid': 'pid:[4026532201]' } }, false],
  ['a container with the folder of their names', { mountinfo: namedMount, folders: { '/run/netns': tmpfs } }, true],
  ['one where another mount hides that folder', { mountinfo: namedMount }, false],
  ['one whose folder is of its own', { folders: { '/run/netns': tmpfs } }, false],
])('while there are no pods yet, those that come will be seen, or not: %s', async (_, places, willSee) => {
  expect(await seesNamespacesOfPods(memoryPlaceFiles(places))).toBe(willSee)
})

const missing = await missingForBpf()
describe.skipIf(missing !== undefined)(
  `on this machine${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  () => {
    test('the cgroup is found, and a BPF file system', async () => {
      const files = machineFiles(await loadLibc())
      const { path } = await findCgroup(files, cgroup2Mounts(await files.readText('/proc/self/mountinfo'))[0])
      expect(statfsSync(path).type).toBe(cgroup2)

      const folder = mkdtempSync(join(tmpdir(), 'fairlead-test-places-'))
      const mountPoint = join(folder, 'bpf')
      mkdirSync(mountPoint)
      try {
        await expect(ensureBpffs(files, join(mountPoint, 'fairlead'))).rejects.toThrow('is not in a BPF file system')
        expect(await files.mount('bpf', mountPoint)).toBe(0)
        expect(await ensureBpffs(files, join(mountPoint, 'fairlead'))).toEqual({ isMounted: false })
        await expect(ensureBpffs(files, mountPoint)).rejects.toThrow('it is the BPF file system itself')
        mkdirSync(join(mountPoint, 'fairlead'))
        expect(await ensureBpffs(files, join(mountPoint, 'fairlead'))).toEqual({ isMounted: false })
      } finally {
        execFileSync('umount', [mountPoint])
        rmSync(folder, { recursive: true })
      }
    })
  },
)
