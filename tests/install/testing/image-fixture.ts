/** Images with the real packages of Debian and a tiny Fairlead, which are made in seconds. */
import { join } from 'node:path'
import type { ArchitectureName } from '../../../tools/package/architectures.ts'
import type { Product } from '../../../tools/image/image-config.ts'
import { type Ingredients, type MadeImage, makeImage } from '../../../tools/image/make-image.ts'
import { writeLayout } from '../../../tools/image/oci-layout.ts'
import { readPinnedPackages } from '../../../tools/image/pinned-packages.ts'
import { cache } from '../../../tools/image/places.ts'
import { missingPrograms } from '../../packet/testing/iptables-variant.ts'
import { makeTinyPackageTree } from './tiny-package-tree.ts'

export const product: Product = {
  name: 'fairlead',
  version: '0.1.0',
  description: 'a proxy',
  license: 'Apache-2.0',
  source: 'https://example.com/fairlead',
  revision: 'abc',
}

export async function ingredientsFor(arch: ArchitectureName, folder: string): Promise<Ingredients> {
  const packageTree = join(folder, `package-${arch}`)
  await makeTinyPackageTree(packageTree)
  return { arch, product, createdAt: 1_700_000_000, pinned: await readPinnedPackages(), packageTree, cache }
}

export interface ImageFile extends MadeImage {
  readonly file: string
}

export async function makeImageFile(arch: ArchitectureName, folder: string): Promise<ImageFile> {
  const made = await makeImage(await ingredientsFor(arch, folder))
  const file = join(folder, `${arch}.tar`)
  await writeLayout(file, [made.image], { name: product.name, tag: product.version })
  return { ...made, file }
}

/** Why no image can be made here, or undefined when one can. */
export function makingProblem(): string | undefined {
  return missingPrograms('apt-get', 'dpkg-deb', 'tar', 'gzip')
}
