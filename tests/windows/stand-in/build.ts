/**
 * Compiles the stand-ins for computenetwork.dll and vmcompute.dll: for this machine, or with mingw-w64 for Windows.
 *
 *   npx tsx tests/windows/stand-in/build.ts windows FOLDER
 */
import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

export type Target = 'here' | 'windows'

/** The second one lacks HcnModifyLoadBalancer. The third one, for Windows alone, hands its calls to the first. */
export const libraryNames = ['computenetwork', 'computenetwork-without-modify', 'vmcompute'] as const
export type LibraryName = (typeof libraryNames)[number]

export const compilers: Readonly<Record<Target, string>> = { here: 'cc', windows: 'x86_64-w64-mingw32-gcc' }

/** Builds a library, named `NAME.so` or `NAME.dll`, into the folder. Returns its path. */
export async function buildStandIn(target: Target, folder: string, name: LibraryName): Promise<string> {
  await mkdir(folder, { recursive: true })
  const library = join(folder, `${name}.${target === 'windows' ? 'dll' : 'so'}`)
  const args = name === 'vmcompute' ? forwarder : standIn(target, name)
  await promisify(execFile)(compilers[target], [...args, '-o', library], { cwd: here })
  return library
}

const here = fileURLToPath(new URL('.', import.meta.url))

function standIn(target: Target, name: LibraryName): readonly string[] {
  const how = target === 'windows' ? ['-static-libgcc', 'computenetwork.c', '-lole32'] : ['-fPIC', 'computenetwork.c']
  const flags = name === 'computenetwork-without-modify' ? ['-DWITHOUT_MODIFY'] : []
  return ['-Wall', '-Wextra', '-Werror', '-O1', '-shared', ...flags, ...how]
}

const forwarder = ['-shared', '-nostdlib', '-Wl,--entry=0', 'vmcompute.def']

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [, , target, folder] = process.argv
  if ((target !== 'here' && target !== 'windows') || folder === undefined)
    throw new Error('usage: build.ts here|windows FOLDER')
  const names = libraryNames.filter((name) => target === 'windows' || name !== 'vmcompute')
  for (const name of names) process.stdout.write(`${await buildStandIn(target, folder, name)}\n`)
}
