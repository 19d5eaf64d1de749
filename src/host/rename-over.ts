import { rename as renameFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const firstPauseMs = 10
const longestPauseMs = 500

interface RenameOptions {
  readonly platform?: NodeJS.Platform
  readonly rename?: (from: string, to: string) => Promise<void>
  readonly pause?: (ms: number) => Promise<unknown>
}

/**
 * Renames a file over another one. On Windows somebody who reads the old file (a virus scanner, a backup) can prevent that for a
 * moment, so it is tried again for about a second.
 */
export async function renameOver(
  from: string,
  to: string,
  { platform = process.platform, rename = renameFile, pause = sleep }: RenameOptions = {},
): Promise<void> {
  for (let pauseMs = firstPauseMs; ; pauseMs *= 2) {
    try {
      return await rename(from, to)
    } catch (error) {
      if (platform !== 'win32' || pauseMs > longestPauseMs || !isHeld(error)) throw error
      await pause(pauseMs)
    }
  }
}

function isHeld(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'EPERM' || code === 'EACCES' || code === 'EBUSY'
}
