/** The upper layer: the part of the package tree that a container uses. */
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const doc = 'share/doc/fairlead'

/**
 * From the package tree, with the place in the image. Completions, manual, pages and systemd unit are for machines. All that the SBOM
 * of the package lists is in that of the image.
 */
const parts: readonly (readonly [from: string, to: string])[] = [
  ['bin', 'usr/bin'],
  ['lib/fairlead', 'usr/lib/fairlead'],
  ...['LICENSE', 'LICENSE.nodejs', 'NOTICE'].map((name) => [`${doc}/${name}`, `usr/${doc}/${name}`] as const),
  ['etc/fairlead', 'etc/fairlead'],
]

const sbomPath = `usr/${doc}/image.cdx.json`

export async function makeFairleadRoot(root: string, packageTree: string, sbom: string): Promise<void> {
  for (const [from, to] of parts) {
    await mkdir(dirname(join(root, to)), { recursive: true })
    await cp(join(packageTree, from), join(root, to), { recursive: true, verbatimSymlinks: true })
  }
  await writeFile(join(root, sbomPath), sbom)
}
