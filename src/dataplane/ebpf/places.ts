/** Where programs are attached and pinned: the cgroup of all processes, and a BPF file system that outlives this process. */
import { dirname, join, resolve } from 'node:path'
import { BpfError, errnoName } from './bpf-error.ts'
import { parseMounts } from './mounts.ts'
import { bpffsType } from './pin-files.ts'

/** What of the machine's files matters here. Every method may throw as Node's file system does. */
export interface PlaceFiles {
  readText(path: string): Promise<string>
  /** Names, without order. */
  list(path: string): Promise<readonly string[]>
  readLink(path: string): Promise<string>
  /** The kind of file system, as statfs(2) numbers it. */
  fileSystem(path: string): Promise<number>
  inode(path: string): Promise<bigint>
  makeFolder(path: string): Promise<void>
  /** Returns an errno, or 0. */
  mount(type: 'bpf' | 'cgroup2', path: string): Promise<number>
}

export const cgroup2Type = 0x63677270
/** The root of all cgroups has this inode, in every mount that shows it, and so has that of a BPF file system. */
export const rootInode = 1n

export interface CgroupPlace {
  readonly path: string
  /** The inode of the folder: how the kernel names it in `LinkState`. */
  readonly id: bigint
  /** False: only a part of the machine's processes are in it, as in a node that is a container. */
  readonly isRoot: boolean
  /** True: it was not mounted, and is now. */
  readonly isMounted: boolean
}

/**
 * The cgroup that all pods and the processes of this node are in. `wanted` is what the user says; otherwise it is looked
 * for. Rejects with a BpfError `no-cgroup2` that says what to do.
 */
export async function findCgroup(files: PlaceFiles, wanted?: string): Promise<CgroupPlace> {
  const mounted = wanted ?? (await rootFirst(files, cgroup2Mounts(await files.readText('/proc/self/mountinfo'))))
  const path = mounted ?? (await mountCgroup2(files))
  if ((await files.inode(path).catch(() => undefined)) === undefined)
    throw new BpfError('no-cgroup2', `cannot attach programs to ${path}: there is no such folder`)
  if ((await files.fileSystem(path).catch(() => 0)) !== cgroup2Type)
    throw new BpfError('no-cgroup2', `cannot attach programs to ${path}: it is not a folder of cgroup v2`)
  const id = await files.inode(path)
  const place: CgroupPlace = { path, id, isRoot: id === rootInode, isMounted: mounted === undefined }
  if (wanted === undefined) await assertOfThisNode(files, place)
  return place
}

/** A container sees its own cgroup, and the root where the host's folder is mounted, too. */
async function rootFirst(files: PlaceFiles, mounts: readonly string[]): Promise<string | undefined> {
  let first: string | undefined
  for (const path of mounts) {
    // Another mount may hide it.
    if ((await files.fileSystem(path).catch(() => 0)) !== cgroup2Type) continue
    if ((await files.inode(path)) === rootInode) return path
    first ??= path
  }
  return first
}

/** Where cgroup v2 is mounted: alone, or beside the folders of version 1. */
export function cgroup2Mounts(mountinfo: string): readonly string[] {
  return parseMounts(mountinfo)
    .filter(({ type }) => type === 'cgroup2')
    .map(({ path }) => path)
}

const ownMount = '/run/fairlead/cgroup2'

/** On a machine with cgroup v1, all processes are in the root of version 2, which only has to be mounted. */
async function mountCgroup2(files: PlaceFiles): Promise<string> {
  const errno = await files.makeFolder(ownMount).then(
    () => files.mount('cgroup2', ownMount),
    (error: NodeJS.ErrnoException) => -(error.errno ?? 0),
  )
  if (errno === 0) return ownMount
  throw new BpfError(
    'no-cgroup2',
    `cannot attach programs: no cgroup v2 is mounted, nor can it be (${errnoName(errno)}); mount the host's /sys/fs/cgroup into the container, and cgroup2 on a host that has version 1 only`,
    { errno },
  )
}

async function assertOfThisNode(files: PlaceFiles, { path, isRoot }: CgroupPlace): Promise<void> {
  if (isRoot && (await isNodeInContainer(files)))
    throw new BpfError(
      'no-cgroup2',
      `cannot attach programs to ${path}: it has the processes of other nodes, too; name the cgroup of this node with --ebpf-cgroup`,
    )
  if (!isRoot && !(await hasPods(files, path)))
    throw new BpfError(
      'no-cgroup2',
      `cannot attach programs to ${path}: it is the cgroup of this container, without pods in it; mount the host's /sys/fs/cgroup into the container`,
    )
}

/** A node of kind is a container with a network of its own, on a kernel with other nodes. */
async function isNodeInContainer(files: PlaceFiles): Promise<boolean> {
  const [own, first] = await Promise.all(
    ['/proc/self/ns/net', '/proc/1/ns/net'].map((path) => files.readLink(path).catch(() => undefined)),
  )
  return own !== undefined && first !== undefined && own !== first
}

/** The kubelet puts pods into `kubepods` or `kubepods.slice`, perhaps inside of a folder of its own. */
export async function hasPods(files: PlaceFiles, path: string): Promise<boolean> {
  const namesIn = (folder: string) => files.list(folder).catch((): readonly string[] => [])
  const isOfKubelet = (name: string) => /kube(pods|let)/.test(name)
  const names = await namesIn(path)
  if (names.some(isOfKubelet)) return true
  for (const name of names) if ((await namesIn(join(path, name))).some(isOfKubelet)) return true
  return false
}

export interface PinPlace {
  /** True: there was no BPF file system, and it is mounted now. In a container it ends with the container. */
  readonly isMounted: boolean
}

/** The kernel makes this folder for it, and nothing else is ever there. */
const usualBpffs = '/sys/fs/bpf'

/** Makes sure that pins can be put into the folder. Rejects with a BpfError `no-bpffs` that says what to do. */
export async function ensureBpffs(files: PlaceFiles, folder: string): Promise<PinPlace> {
  const nearest = await nearestFolder(files, folder)
  const isInBpffs = (await files.fileSystem(nearest)) === bpffsType
  const tried = `cannot pin programs and maps in ${folder}`
  const isItself = isInBpffs && nearest === folder && (await files.inode(folder)) === rootInode
  if (isItself || resolve(folder) === usualBpffs)
    throw new BpfError(
      'no-bpffs',
      `${tried}: it is the BPF file system itself, where others pin, too; give a folder in it with --ebpf-pins, such as ${join(folder, 'fairlead')}`,
    )
  if (isInBpffs) return { isMounted: false }
  const mountPoint = dirname(folder)
  // With Bidirectional, which only privileged containers may have, a mount of our own would outlive the container.
  const advice = `mount one on the node (mount -t bpf bpf ${mountPoint}), and in a container the node's, with mountPropagation HostToContainer`
  // Any other folder may hold what somebody needs, and a mount would hide it.
  if (mountPoint !== usualBpffs)
    throw new BpfError(
      'no-bpffs',
      `${tried}: ${nearest} is not in a BPF file system; ${advice}; or give a folder in one with --ebpf-pins`,
    )
  if (nearest !== mountPoint && nearest !== folder)
    throw new BpfError('no-bpffs', `${tried}: ${mountPoint} does not exist; ${advice}`)
  const errno = await files.mount('bpf', mountPoint)
  if (errno === 0) return { isMounted: true }
  const why = `there is no BPF file system, nor can it be mounted (${errnoName(errno)})`
  throw new BpfError('no-bpffs', `${tried}: ${why}; ${advice}`, { errno })
}

async function nearestFolder(files: PlaceFiles, path: string): Promise<string> {
  const exists = await files.inode(path).then(
    () => true,
    () => false,
  )
  return exists || path === dirname(path) ? path : nearestFolder(files, dirname(path))
}

/** Whether the sockets of pods can be found, also of those that come later: a node that has just booted has none yet. */
export async function seesNamespacesOfPods(files: PlaceFiles): Promise<boolean> {
  return (await seesNamedNamespaces(files)) || (await seesProcessesOfPods(files))
}

const namedFolder = '/run/netns'

/** Container runtimes give them names. In a container their folder is there only if it is mounted. */
export async function seesNamedNamespaces(files: PlaceFiles): Promise<boolean> {
  const names = await files.list(namedFolder).catch(() => undefined)
  if (names === undefined) return false
  if (names.length > 0) return true
  const mounts = parseMounts(await files.readText('/proc/self/mountinfo').catch(() => ''))
  return mounts.some(({ path }) => path === namedFolder)
}

/** The kernel gives the first namespace of processes this number. All others are inside of it. */
const firstOfProcesses = 'pid:[4026531836]'

async function seesProcessesOfPods(files: PlaceFiles): Promise<boolean> {
  if ((await files.readLink('/proc/self/ns/pid').catch(() => '')) === firstOfProcesses) return true
  const processes = (await files.list('/proc').catch((): readonly string[] => [])).filter((name) => /^\d+$/.test(name))
  const namespaces = new Set<string>()
  for (const pid of processes) {
    const namespace = await files.readLink(`/proc/${pid}/ns/net`).catch(() => undefined)
    if (namespace !== undefined) namespaces.add(namespace)
    if (namespaces.size > 1) return true
  }
  return false
}
