/** Where the tools are. Paths are those of the given system, whichever one this runs on. */
import { posix, win32 } from 'node:path'
import { findProgram, type Look } from '../../host/find-program.ts'

export interface SearchingProcess {
  readonly platform: NodeJS.Platform
  readonly env: NodeJS.ProcessEnv
}

/** The PATH of a system service often lacks the folders of the tools. */
export function searchPath({ platform, env }: SearchingProcess): string {
  const { delimiter } = pathsOf(platform)
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return [...new Set([...folders, ...systemFolders(platform, env)])].join(delimiter)
}

/**
 * What to start for a program without a folder; undefined: it is nowhere. Windows would look into the current folder
 * first, and what lies there would run as an administrator.
 */
export function fileToRun(program: string, path: string, platform: NodeJS.Platform, look?: Look): string | undefined {
  if (platform !== 'win32' || /[\\/]/.test(program)) return program
  const found = findProgram(`${program}.exe`, path, look, win32)
  return found.kind === 'found' ? found.file : undefined
}

function systemFolders(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): readonly string[] {
  if (platform === 'win32') return [win32.join(env['SystemRoot'] ?? 'C:\\Windows', 'System32')]
  return ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/local/bin', '/usr/bin', '/bin']
}

function pathsOf(platform: NodeJS.Platform): typeof posix {
  return platform === 'win32' ? win32 : posix
}
