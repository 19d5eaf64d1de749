/** For whoever only looks: places as they would be if the proxy had mounted what it may mount. Nothing is changed. */
import { constants } from 'node:os'
import { bpffsType } from './pin-files.ts'
import { cgroup2Type, rootInode } from './places.ts'
import type { PlaceFiles } from './places.ts'

export function imaginedMounts(files: PlaceFiles, mayMount: boolean): PlaceFiles {
  const mounted = new Map<string, 'bpf' | 'cgroup2'>()
  return {
    ...files,
    async fileSystem(path) {
      const type = mounted.get(path)
      if (type === undefined) return files.fileSystem(path)
      return type === 'bpf' ? bpffsType : cgroup2Type
    },
    // A new mount of cgroup v2 shows the root.
    inode: async (path) => (mounted.get(path) === 'cgroup2' ? rootInode : files.inode(path)),
    async makeFolder() {},
    async mount(type, path) {
      if (!mayMount) return constants.errno.EPERM
      mounted.set(path, type)
      return 0
    },
  }
}
