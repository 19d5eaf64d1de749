/** The files of this machine. */
import { mkdir, readdir, readFile, readlink, stat, statfs } from 'node:fs/promises'
import type { Libc } from '../libc/load-libc.ts'
import type { PlaceFiles } from './places.ts'

export function machineFiles(libc: Libc): PlaceFiles {
  return {
    readText: (path) => readFile(path, 'utf8'),
    list: (path) => readdir(path),
    readLink: (path) => readlink(path),
    fileSystem: async (path) => (await statfs(path)).type,
    inode: async (path) => (await stat(path, { bigint: true })).ino,
    async makeFolder(path) {
      await mkdir(path, { recursive: true })
    },
    mount: async (type, path) => libc.mount(type, path, type),
  }
}
