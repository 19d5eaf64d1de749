/** The package trees that images are made from. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { ArchitectureName } from '../package/architectures.ts'
import { treeName } from '../package/build-tree.ts'
import { packages, root } from '../package/places.ts'

/** Makes them from the source as it is now. */
export async function makePackageTrees(archs: readonly ArchitectureName[]): Promise<void> {
  const args = ['run', '--silent', 'package', '--', '--tree-only', `--arch=${archs.join(',')}`]
  const [code] = (await once(spawn('npm', args, { cwd: root, stdio: 'inherit' }), 'exit')) as [number | null]
  if (code !== 0) throw new Error('npm run package failed')
}

/** Where the tree of an architecture is. */
export function packageTreeOf(arch: ArchitectureName, version: string): string {
  return join(packages, treeName(version, arch))
}
