/**
 * Compiles the stand-in for computenetwork.dll: for this machine, or with mingw-w64 for Windows.
 *
 *   npx tsx tests/windows/stand-in/build.ts windows FOLDER
 */
import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

export type Target = 'here' | 'windows'

/** The second one lacks HcnModifyLoadBalancer. */
export const libraryNames = ['computenetwork', 'computenetwork-without-modify'] as const
export type LibraryName = (typeof libraryNames)[number]

export const compilers: Readonly<Record<Target, string>> = { here: 'cc', windows: 'x86_64-w64-mingw32-gcc' }

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** Builds a library, named `NAME.so` or `NAME.dll`, into the folder. Returns its path. */
export async function buildStandIn(target: Target, folder: string, name: LibraryName): Promise<string> {
  await mkdir(folder, { recursive: true })
  const library = join(folder, `${name}.${target === 'windows' ? 'dll' : 'so'}`)
  const sources = target === 'windows' ? ['computenetwork.c', 'computenetwork.def'] : ['computenetwork.c']
  const [how, libraries] = target === 'windows' ? [['-static-libgcc'], ['-lole32']] : [['-fPIC'], []]
  const common = ['-Wall', '-Wextra', '-Werror', '-O1', '-shared']
  const flags = name === 'computenetwork' ? [] : ['-DWITHOUT_MODIFY']
  const args = [...common, ...how, ...flags, '-o', library, ...sources.map(file), ...libraries]
  await promisify(execFile)(compilers[target], args)
  return library
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [, , target, folder] = process.argv
  if ((target !== 'here' && target !== 'windows') || folder === undefined)
    throw new Error('usage: build.ts here|windows FOLDER')
  for (const name of libraryNames) process.stdout.write(`${await buildStandIn(target, folder, name)}\n`)
}
