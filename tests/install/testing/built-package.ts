/** What `npm run package` has made. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { architectureHere, architectures } from '../../../tools/package/architectures.ts'
import type { ArchitectureName } from '../../../tools/package/architectures.ts'
import { treeName } from '../../../tools/package/build-tree.ts'
import { packages, root } from '../../../tools/package/places.ts'

export const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }

export interface BuiltPackage {
  readonly tree: string
  readonly executable: string
  readonly tarball: string
  readonly deb: string
  readonly rpm: string
}

export function builtPackage(name: ArchitectureName): BuiltPackage {
  const tree = join(packages, treeName(version, name))
  return {
    tree,
    executable: join(tree, 'bin/fairlead'),
    tarball: `${tree}.tar.gz`,
    deb: join(packages, `fairlead_${version}_${name}.deb`),
    rpm: join(packages, `fairlead-${version}-1.${architectures[name].rpm}.rpm`),
  }
}

/** For the machine that the tests run on. */
export const packageHere: BuiltPackage = builtPackage(architectureHere())
