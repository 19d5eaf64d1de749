/** The upper layer: the part of the package tree that a container uses. */
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'

/** From the package tree, with the place in the image. Completions, man page and systemd unit are for machines. */
const parts: readonly (readonly [from: string, to: string])[] = [
  ['bin', 'usr/bin'],
  ['lib/fairlead', 'usr/lib/fairlead'],
  ['share/doc/fairlead', 'usr/share/doc/fairlead'],
  ['etc/fairlead', 'etc/fairlead'],
]

const sbomPath = 'usr/share/doc/fairlead/image.cdx.json'

export async function makeFairleadRoot(root: string, packageTree: string, sbom: string): Promise<void> {
  for (const [from, to] of parts) {
    await mkdir(join(root, to), { recursive: true })
    await cp(join(packageTree, from), join(root, to), { recursive: true, verbatimSymlinks: true, filter: isNeeded })
  }
  await writeFile(join(root, sbomPath), sbom)
}

/** All that the SBOM of the package lists is in that of the image. */
function isNeeded(path: string): boolean {
  return basename(path) !== 'sbom.cdx.json'
}
