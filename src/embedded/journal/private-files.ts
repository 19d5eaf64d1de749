/** The data directory holds everything in the cluster, so only its owner should be able to read it. */
import { mkdir, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import type { Logger } from '../../core/logger.ts'

export const privateMode = 0o600

const openToOthers = 0o077

/**
 * Creates the directory for its owner alone. An existing one keeps its mode, because it may have another purpose too
 * (`/tmp`); the files in it are private in any case.
 */
export async function makePrivateDirectory(directory: string, log: Logger): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const { mode } = await stat(directory)
  if (process.platform === 'win32' || (mode & openToOthers) === 0) return
  log.warn('the data directory is open to other users; close it with chmod 700', {
    directory,
    mode: (mode & 0o7777).toString(8),
  })
}

/** For a file that an older version, or another program, made readable. */
export async function makePrivate(file: FileHandle): Promise<void> {
  const { mode, uid } = await file.stat()
  // Only the owner may change it.
  const isOurs = process.getuid?.() === uid || process.getuid?.() === 0
  if (isOurs && (mode & openToOthers) !== 0) await file.chmod(privateMode)
}
