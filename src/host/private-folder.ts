/** Folders whose files decide what this program does, so that nobody else may put one there. */
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

/** LocalSystem, the administrators, and whoever owns the folder: as numbers, because their names are translated. */
const trusted = ['S-1-5-18', 'S-1-5-32-544', 'S-1-3-4']

/** A folder that is there already keeps its access rights. */
export function makePrivateFolder(folder: string, platform = process.platform, closeToOthers = closeFolder): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 })
  // Modes mean nothing to Windows. Below ProgramData every user may create files, unless somebody says otherwise.
  if (platform === 'win32' && first !== undefined) closeToOthers(first)
}

/** The arguments of icacls: no rights from the folder above, and all rights for few, also in what is made in it. */
export function closingArguments(folder: string): readonly string[] {
  return [folder, '/inheritance:r', ...trusted.flatMap((sid) => ['/grant:r', `*${sid}:(OI)(CI)F`])]
}

function closeFolder(folder: string): void {
  const icacls = join(process.env['SystemRoot'] ?? 'C:\\Windows', 'System32', 'icacls.exe')
  try {
    execFileSync(icacls, closingArguments(folder), { stdio: 'ignore', windowsHide: true, timeout: 10_000 })
  } catch {
    // Some disks know no access rights (FAT). Then there is nothing to set.
  }
}
