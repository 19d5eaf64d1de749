/** From the pinned Debian packages and the package tree to the folders and layers of an image. */
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ArchitectureName } from '../package/architectures.ts'
import { downloadPackages } from './download-packages.ts'
import { makeFairleadRoot } from './fairlead-root.ts'
import { imageConfig, type Product } from './image-config.ts'
import { type Bom, renderImageSbom } from './image-sbom.ts'
import { normaliseModes, packLayer } from './layer.ts'
import type { Image } from './oci-layout.ts'
import type { PinnedPackages } from './pinned-packages.ts'
import { makeToolsRoot } from './tools-root.ts'

export interface Ingredients {
  readonly arch: ArchitectureName
  readonly product: Product
  readonly createdAt: number
  readonly pinned: PinnedPackages
  /** What `npm run package` made for this architecture. */
  readonly packageTree: string
  readonly cache: string
}

export interface MadeImage {
  readonly image: Image
  readonly sbom: string
}

export async function makeImage(ingredients: Ingredients): Promise<MadeImage> {
  const { arch, product, createdAt, pinned, cache } = ingredients
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, `roots-${arch}-`))
  try {
    const { sbom } = await makeRoots(ingredients, folder)
    const common = { secondsOfFiles: pinned.chosenAt, cache: join(cache, 'layers') }
    const layers = [
      await packLayer(join(folder, 'tools'), { ...common, comment: 'tools of Debian' }),
      await packLayer(join(folder, 'fairlead'), { ...common, comment: `${product.name} ${product.version}` }),
    ]
    return { image: { arch, layers, config: imageConfig(product), createdAt }, sbom }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Makes the folders "tools" and "fairlead", one for each layer. */
export async function makeRoots(
  { arch, product, pinned, packageTree, cache }: Omit<Ingredients, 'createdAt'>,
  folder: string,
): Promise<{ readonly sbom: string }> {
  const packages = pinned.packages.filter((one) => one.arch === arch)
  const files = await downloadPackages(packages, join(cache, 'debs'))
  const debs = packages.map((one, n) => ({ pinned: one, file: files[n] ?? '' }))
  const sbom = renderImageSbom(product, packages, await readSbom(packageTree))
  await mkdir(folder, { recursive: true })
  await makeToolsRoot(join(folder, 'tools'), arch, debs)
  await makeFairleadRoot(join(folder, 'fairlead'), packageTree, sbom)
  await normaliseModes(folder)
  return { sbom }
}

async function readSbom(packageTree: string): Promise<Bom> {
  return JSON.parse(await readFile(join(packageTree, 'share/doc/fairlead/sbom.cdx.json'), 'utf8')) as Bom
}
