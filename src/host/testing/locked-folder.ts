/** A folder that the user may not read. Root may read every folder, so a test that runs as root changes its user. */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const nobody = 65_534

export async function withLockedFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-locked-'))
  await chmod(folder, 0o000)
  const wasRoot = process.geteuid?.() === 0
  try {
    if (wasRoot) process.seteuid?.(nobody)
    return await use(folder)
  } finally {
    if (wasRoot) process.seteuid?.(0)
    await rm(folder, { recursive: true })
  }
}
