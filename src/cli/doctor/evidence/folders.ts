/** The folders that the user has named, on disk. */
import { constants } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Setup } from '../setup.ts'

export type FolderFacts = readonly Folder[]

interface Folder {
  /** The flag that names it. */
  readonly flag: string
  readonly path: string
  readonly kind: 'folder' | 'file' | 'missing'
  /** The folder above it, which would have to be writable to make it. */
  readonly mayBeMade: boolean
  readonly isReadable: boolean
  readonly isWritable: boolean
  readonly mode: number
  readonly freeBytes: number | undefined
  readonly freeFiles: number | undefined
  /** Why it could not be looked at. */
  readonly problem: string | undefined
}

export async function readFolders({ stateDir, objects, logFile }: Setup): Promise<FolderFacts> {
  const named = [
    ...(stateDir === '' ? [] : [{ flag: '--state-dir', path: stateDir }]),
    ...objects.filter((path) => path !== '-').map((path) => ({ flag: '--objects', path })),
    ...(logFile === '' ? [] : [{ flag: '--log-file', path: dirname(logFile) }]),
  ]
  return Promise.all(named.map(({ flag, path }) => readFolder(flag, path)))
}

async function readFolder(flag: string, path: string): Promise<Folder> {
  const may = (mode: number, where = path) =>
    access(where, mode).then(
      () => true,
      () => false,
    )
  try {
    const found = await stat(path)
    const { bavail, bsize, ffree, files } = await statfs(path)
    return {
      flag,
      path,
      kind: found.isDirectory() ? 'folder' : 'file',
      mayBeMade: true,
      isReadable: await may(constants.R_OK),
      isWritable: await may(constants.W_OK),
      mode: found.mode & 0o777,
      freeBytes: bavail * bsize,
      // Some file systems have no such limit, and say 0 of 0.
      freeFiles: files === 0 ? undefined : ffree,
      problem: undefined,
    }
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    return {
      flag,
      path,
      kind: 'missing',
      mayBeMade: isMissing && (await may(constants.W_OK, await nearestAbove(path))),
      isReadable: false,
      isWritable: false,
      mode: 0,
      freeBytes: undefined,
      freeFiles: undefined,
      problem: isMissing ? undefined : (error as Error).message,
    }
  }
}

async function nearestAbove(path: string): Promise<string> {
  for (let above = dirname(path); ; above = dirname(above)) {
    const isThere = await stat(above).then(
      () => true,
      () => false,
    )
    if (isThere || above === dirname(above)) return above
  }
}
