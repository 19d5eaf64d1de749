/** The files of a BPF file system. */
import { lstat, mkdir, readdir, rm, stat, statfs } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { BpfError, bpfErrorFrom } from './bpf-error.ts'

/** As statfs(2) numbers it. */
export const bpffsType = 0xcafe4a11

/** Whether the folder, or what there is above it, is in a BPF file system. */
async function isInBpffs(path: string): Promise<boolean> {
  try {
    return (await statfs(path)).type === bpffsType
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || path === dirname(path)) return false
    return isInBpffs(dirname(path))
  }
}

export async function makePinFolder(folder: string, doing: string): Promise<void> {
  await assertInBpffs(folder, doing)
  try {
    await mkdir(folder, { recursive: true })
  } catch (cause) {
    throw bpfErrorFrom(errnoOf(cause), 'pin', doing, { cause })
  }
}

/** Sorted, relative to the folder. */
export async function listPins(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => !entry.isDirectory())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
      .toSorted()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw bpfErrorFrom(errnoOf(cause), 'open-pin', `list the pins in ${folder}`, { cause })
  }
}

export async function removePins(path: string): Promise<void> {
  const doing = `remove the pins at ${path}`
  try {
    if (!(await exists(path))) return
    // A wrong setting must not delete other people's files, nor other people's pins.
    await assertInBpffs(path, doing)
    if ((await stat(path)).dev !== (await stat(dirname(path))).dev)
      throw new BpfError('refused', `cannot ${doing}: it is the BPF file system itself, which others use too`)
    await rm(path, { recursive: true, force: true })
  } catch (cause) {
    if (cause instanceof BpfError) throw cause
    throw bpfErrorFrom(errnoOf(cause), 'open-pin', doing, { cause })
  }
}

async function assertInBpffs(path: string, doing: string): Promise<void> {
  if (!(await isInBpffs(path)))
    throw new BpfError(
      'no-bpffs',
      `cannot ${doing}: the folder is not in a BPF file system; mount the host's /sys/fs/bpf`,
    )
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
}

/** Node's errno is negative. */
const errnoOf = (error: unknown): number => -((error as NodeJS.ErrnoException).errno ?? 0)
