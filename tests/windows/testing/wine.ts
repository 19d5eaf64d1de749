/** Where Wine is, and the environment that a Windows program gets. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Debian keeps the 64-bit loader and its server outside PATH. */
const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/lib/wine']

const find = (program: string) => folders.map((folder) => join(folder, program)).find((file) => existsSync(file))

export const programs = {
  wine: find('wine64'),
  wineserver: find('wineserver'),
  /** Compiles the stand-ins for Windows' own programs and libraries. */
  compiler: find('x86_64-w64-mingw32-gcc'),
}

/** What to install before Windows programs can run here, for the name of a test; undefined when nothing is missing. */
export const missingTools: string | undefined = Object.values(programs).includes(undefined)
  ? ' (needs Wine: apt-get install wine64 gcc-mingw-w64-x86-64-win32)'
  : undefined

/** Wine shows the files of this machine as drive Z. */
export function windowsPath(path: string): string {
  return `Z:${path.replaceAll('/', '\\')}`
}

export function wineEnvironment(prefix: string): Readonly<Record<string, string>> {
  return {
    WINEPREFIX: prefix,
    WINEDEBUG: '-all',
    // No .NET, no browser, no menus of a desktop: a first start would offer to download the former.
    WINEDLLOVERRIDES: 'mscoree,mshtml=;winemenubuilder.exe=d',
    DISPLAY: '',
  }
}
