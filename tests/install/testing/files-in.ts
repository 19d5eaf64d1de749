/** All that is in a folder, by its path. */
import { lstat, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'

export interface FileFacts {
  readonly kind: 'file' | 'folder' | 'link'
  /** Only the bits for permissions. */
  readonly mode: number
  readonly size: number
  /** Of a link. */
  readonly target?: string
}

export async function filesIn(root: string): Promise<ReadonlyMap<string, FileFacts>> {
  return new Map((await below(root, '')).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

/** readdir of Node 20 would follow links to folders. */
async function below(root: string, folder: string): Promise<(readonly [path: string, FileFacts])[]> {
  const found = (await readdir(join(root, folder))).map(async (name) => {
    const path = join(folder, name)
    const facts = await factsOf(join(root, path))
    return [[path, facts] as const, ...(facts.kind === 'folder' ? await below(root, path) : [])]
  })
  return (await Promise.all(found)).flat()
}

async function factsOf(path: string): Promise<FileFacts> {
  const stats = await lstat(path)
  const mode = stats.mode & 0o7777
  if (stats.isSymbolicLink()) return { kind: 'link', mode, size: 0, target: await readlink(path) }
  return stats.isDirectory() ? { kind: 'folder', mode, size: 0 } : { kind: 'file', mode, size: stats.size }
}
