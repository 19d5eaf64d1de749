/** The real settings, in any folder like /proc/sys. */
import { constants } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SysctlError } from './sysctl.ts'
import type { Sysctl } from './sysctl.ts'

export interface FileSysctlOptions {
  readonly root: string
  /** What a process needs to write there, for errors. */
  readonly needs?: string
}

export function fileSysctl({ root, needs = "root, in the host's network namespace" }: FileSysctlOptions): Sysctl {
  return {
    async read(path) {
      try {
        return (await readFile(join(root, path), 'utf8')).trim()
      } catch {
        return undefined
      }
    },
    async write(path, value) {
      const file = join(root, path)
      try {
        // Must not create a file: if it is missing, the kernel has no such setting.
        await writeFile(file, value, { flag: constants.O_WRONLY | constants.O_TRUNC })
      } catch (cause) {
        throw sysctlError(file, value, needs, cause)
      }
    },
  }
}

function sysctlError(file: string, value: string, needs: string, cause: unknown): SysctlError {
  const code = (cause as NodeJS.ErrnoException).code ?? String(cause)
  const tried = `cannot set ${file} to ${value}`
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return new SysctlError(
        'not-found',
        `${tried}: the kernel has no such setting; load the module that provides it`,
        {
          cause,
        },
      )
    case 'EACCES':
    case 'EPERM':
      return new SysctlError('not-permitted', `${tried}: it takes ${needs}`, { cause })
    case 'EROFS':
      return new SysctlError('read-only', `${tried}: it is mounted read-only; run the container privileged`, { cause })
    default:
      return new SysctlError('refused', `${tried}: the kernel refused the value (${code})`, { cause })
  }
}
