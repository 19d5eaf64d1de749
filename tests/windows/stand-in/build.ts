/**
 * Compiles the stand-in for computenetwork.dll: for this machine, or with mingw-w64 for Windows.
 *
 *   npx tsx tests/windows/stand-in/build.ts windows out/computenetwork.dll
 */
import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

export type Target = 'here' | 'windows'

export const compilers: Readonly<Record<Target, string>> = { here: 'cc', windows: 'x86_64-w64-mingw32-gcc' }

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** `flags` go to the compiler, such as `-DWITHOUT_MODIFY` for a library that lacks HcnModifyLoadBalancer. */
export async function buildStandIn(target: Target, library: string, flags: readonly string[] = []): Promise<void> {
  await mkdir(dirname(library), { recursive: true })
  const sources = target === 'windows' ? ['computenetwork.c', 'computenetwork.def'] : ['computenetwork.c']
  const [how, libraries] = target === 'windows' ? [['-static-libgcc'], ['-lole32']] : [['-fPIC'], []]
  const common = ['-Wall', '-Wextra', '-Werror', '-O1', '-shared']
  const args = [...common, ...how, ...flags, '-o', library, ...sources.map(file), ...libraries]
  await promisify(execFile)(compilers[target], args)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [, , target, library] = process.argv
  if ((target !== 'here' && target !== 'windows') || library === undefined)
    throw new Error('usage: build.ts here|windows LIBRARY')
  await buildStandIn(target, library)
}
