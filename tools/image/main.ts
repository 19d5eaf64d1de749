/**
 * Writes Fairlead's image without Docker: `npm run image [-- --arch=amd64,arm64]`. It needs a machine with Debian's apt and
 * dpkg, but not root. What is in the image, and how to use it: docs/install.md.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type ArchitectureName, architectureNames, parseArchitectures } from '../package/architectures.ts'
import { makeImage, makeRoots } from './make-image.ts'
import { type Image, writeLayout } from './oci-layout.ts'
import { readPinnedPackages } from './pinned-packages.ts'
import { makePackageTrees, packageTreeOf } from './package-trees.ts'
import { cache } from './places.ts'
import { readProduct, sourceDate } from './product.ts'
import { refreshPins } from './refresh-pins.ts'

const usage = `npm run image -- [--arch=amd64,arm64] [--roots=FOLDER] [--refresh]
  --arch     for which architectures; both if it is not given
  --roots    only make the folders of the layers, for one architecture: the Dockerfile copies them
  --refresh  pin the newest Debian packages in deploy/image/packages.lock
`

try {
  await main()
} catch (error) {
  process.stderr.write(`npm run image: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      arch: { type: 'string', default: architectureNames.join(',') },
      roots: { type: 'string' },
      refresh: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help === true) process.stdout.write(usage)
  else if (values.refresh === true) await refresh()
  else if (values.roots === undefined) await writeImages(parseArchitectures(values.arch))
  else await writeRoots(parseArchitectures(values.arch), values.roots)
}

async function refresh(): Promise<void> {
  const changes = await refreshPins(new Date())
  process.stdout.write(changes.length === 0 ? 'All pinned packages are the newest.\n' : `${changes.join('\n')}\n`)
}

async function writeImages(archs: readonly ArchitectureName[]): Promise<void> {
  const { product, pinned } = await ingredients()
  const createdAt = await sourceDate(pinned.chosenAt)
  const { name, version } = product
  await makePackageTrees(archs)
  const images: Image[] = []
  for (const arch of archs) {
    const made = await makeImage({
      arch,
      product,
      createdAt,
      pinned,
      packageTree: packageTreeOf(arch, version),
      cache,
    })
    const file = join(cache, `${name}-${version}-linux-${arch}.tar`)
    await writeLayout(file, [made.image], { name, tag: version })
    await writeFile(file.replace(/\.tar$/, '.cdx.json'), made.sbom)
    images.push(made.image)
    process.stdout.write(`${file}: ${sizesOf(made.image)}\n`)
  }
  if (images.length < 2) return
  const all = join(cache, `${name}-${version}-linux.tar`)
  await writeLayout(all, images, { name, tag: version })
  process.stdout.write(`${all}: for ${archs.join(' and ')}\n`)
}

async function writeRoots(archs: readonly ArchitectureName[], folder: string): Promise<void> {
  const [arch, ...others] = archs
  if (arch === undefined || others.length > 0) throw new Error('--roots needs one architecture: --arch=amd64')
  const { product, pinned } = await ingredients()
  await makePackageTrees([arch])
  const packageTree = packageTreeOf(arch, product.version)
  await makeRoots({ arch, product, pinned, packageTree, cache }, folder)
}

async function ingredients() {
  await mkdir(cache, { recursive: true })
  return { product: await readProduct(), pinned: await readPinnedPackages() }
}

function sizesOf({ layers }: Image): string {
  return layers.map(({ comment, size }) => `${comment} ${(size / 1e6).toFixed(1)} MB`).join(', ')
}
