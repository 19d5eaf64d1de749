/** Folders and mounts that exist only in memory. */
import { dirname } from 'node:path'
import type { PlaceFiles } from '../places.ts'

/** Kinds of file systems, as statfs(2) numbers them. */
export const [bpffs, cgroup2, tmpfs] = [0xcafe4a11, 0x63677270, 0x01021994]

export const unified = '35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n'
export const onlyVersion1 = '33 31 0:30 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu\n'

export interface MemoryPlaces {
  readonly mountinfo?: string
  /** Folders with the kind of file system that they are in. */
  readonly folders?: Readonly<Record<string, number>>
  readonly inodes?: Readonly<Record<string, bigint>>
  readonly links?: Readonly<Record<string, string>>
  readonly mountErrno?: number
}

/** Folders and mounts of a machine that is described in a few words. */
export function memoryPlaceFiles({
  mountinfo = unified,
  folders = {},
  inodes = {},
  links = {},
  mountErrno = 0,
}: MemoryPlaces): PlaceFiles & {
  readonly done: string[]
} {
  const kinds = new Map(Object.entries(folders))
  const done: string[] = []
  const missing = (path: string) => Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' })
  const kindOf = (path: string): number => {
    const kind = kinds.get(path)
    if (kind === undefined) throw missing(path)
    return kind
  }
  return {
    done,
    readText: async () => mountinfo,
    list: async (path) => {
      const inside = [...kinds.keys(), ...Object.keys(links)].filter((each) => dirname(each) === path)
      if (inside.length === 0 && !kinds.has(path)) throw missing(path)
      return inside.map((each) => each.slice(path.length + 1))
    },
    readLink: async (path) => {
      const link = links[path]
      if (link === undefined) throw missing(path)
      return link
    },
    fileSystem: async (path) => kindOf(path),
    inode: async (path) => {
      kindOf(path)
      return inodes[path] ?? 77n
    },
    makeFolder: async (path) => {
      kinds.set(path, tmpfs)
    },
    mount: async (type, path) => {
      done.push(`${type} at ${path}`)
      if (mountErrno === 0) kinds.set(path, type === 'bpf' ? bpffs : cgroup2)
      return mountErrno
    },
  }
}
