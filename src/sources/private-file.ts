/**
 * Files that only this program may have written, because it trusts their content. Others who may write in the folder
 * could put a link or a file of their own in its place, so neither is accepted.
 */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import type { Stats } from 'node:fs'
import { lstat, open, readdir, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { makePrivateFolder } from '../host/private-folder.ts'
import { renameOver } from '../host/rename-over.ts'

export type PrivateText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'none' }
  /** It exists, but is not to be trusted or cannot be read. */
  | { readonly kind: 'refused'; readonly reason: string }

/** Only its owner may be able to write it, and the owner must be root or we. */
export async function readPrivateFile(path: string): Promise<PrivateText> {
  try {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    await using file = await open(path, constants.O_RDONLY | noFollow | (constants.O_NONBLOCK ?? 0))
    const stats = await file.stat()
    if (!stats.isFile()) return { kind: 'refused', reason: `${path} is not a regular file` }
    const folder = dirname(path)
    const distrust = distrustOf(path, stats) ?? distrustOf(folder, await stat(folder))
    if (distrust !== undefined) return { kind: 'refused', reason: distrust }
    return { kind: 'text', text: await file.readFile('utf8') }
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT') return { kind: 'none' }
    if (code === 'ELOOP') return { kind: 'refused', reason: `${path} is a symbolic link, which is not followed` }
    return { kind: 'refused', reason: `${path} cannot be read: ${String(error)}` }
  }
}

/** Creates the folder if it is missing. Throws if anyone but root and us may write in it. */
export async function ensurePrivateFolder(folder: string): Promise<void> {
  makePrivateFolder(folder)
  const distrust = distrustOf(folder, await stat(folder))
  if (distrust !== undefined) throw new Error(distrust)
}

export type Append = (text: string) => Promise<void>

/**
 * Replaces a file in one step: a crash at any moment leaves the old content or the new one, and a link at its name is
 * replaced, not followed. Only its owner may read the new file, unless a mode says otherwise.
 */
export async function replaceFile(path: string, write: (append: Append) => Promise<void>, mode = 0o600): Promise<void> {
  await removeAbandoned(path)
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(12).toString('hex')}.new`)
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | noFollow
  const file = await open(temporary, flags, mode)
  try {
    try {
      await write((text) => file.appendFile(text))
      await file.sync()
    } finally {
      await file.close()
    }
    await renameOver(temporary, path)
  } catch (error) {
    await unlink(temporary).catch(() => {})
    throw error
  }
  await syncFolder(dirname(path))
}

const noFollow = constants.O_NOFOLLOW ?? 0
/** Writing a file never takes this long: the process that began it is gone. */
const abandonedAfterMs = 10 * 60_000

/** A crash while writing leaves a temporary file that is never used again. */
async function removeAbandoned(path: string): Promise<void> {
  const [prefix, folder] = [`.${basename(path)}.`, dirname(path)]
  const isOurs = (name: string) => name.startsWith(prefix) && /^[0-9a-f]{24}\.new$/.test(name.slice(prefix.length))
  for (const name of (await readdir(folder)).filter(isOurs)) {
    const stats = await lstat(join(folder, name)).catch(() => undefined)
    if (stats !== undefined && Date.now() - stats.mtimeMs > abandonedAfterMs)
      await unlink(join(folder, name)).catch(() => {})
  }
}

function distrustOf(path: string, { uid, mode }: Stats): string | undefined {
  const own = process.getuid?.()
  if (own === undefined) return undefined // Windows has other access rules
  if (uid !== own && uid !== 0)
    return `${path} belongs to user ${uid}, who is neither root nor the user of this process (${own}): chown it`
  return (mode & 0o022) === 0 ? undefined : `${path} may be written by others (mode ${octal(mode)}): chmod go-w it`
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0')
}

/** After a power cut, a rename is only kept if the folder itself was on disk. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return // a folder cannot be opened there
  await using handle = await open(folder, 'r')
  await handle.sync()
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
