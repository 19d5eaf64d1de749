/** The image for this machine, unpacked by umoci, which knows nothing of how it was made. */
import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeImage } from '../../../tools/image/make-image.ts'
import { writeLayout } from '../../../tools/image/oci-layout.ts'
import { readPinnedPackages } from '../../../tools/image/pinned-packages.ts'
import { cache } from '../../../tools/image/places.ts'
import { readProduct } from '../../../tools/image/product.ts'
import { architectureHere } from '../../../tools/package/architectures.ts'
import { missingPrograms } from '../../packet/testing/iptables-variant.ts'
import { namespaceProblem } from '../../packet/testing/namespace.ts'
import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'

import { packageHere } from './built-package.ts'

export interface UnpackedImage extends AsyncDisposable {
  /** With `rootfs` and `config.json`. */
  readonly bundle: string
}

export async function unpackedImage(): Promise<UnpackedImage> {
  const folder = await TemporaryFolder.make()
  const layout = join(folder.path, 'layout')
  await mkdir(layout)
  await run('tar', ['-xf', await imageFile(folder.path), '-C', layout])
  const bundle = join(folder.path, 'bundle')
  await run('umoci', ['unpack', '--image', `${layout}:test`, bundle])
  return { bundle, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() }
}

async function imageFile(folder: string): Promise<string> {
  const arch = architectureHere()
  const product = await readProduct()
  const pinned = await readPinnedPackages()
  const { tree: packageTree } = packageHere
  const { image } = await makeImage({ arch, product, createdAt: pinned.chosenAt, pinned, packageTree, cache })
  const file = join(folder, 'image.tar')
  await writeLayout(file, [image], { name: product.name, tag: 'test' })
  return file
}

/** Why no containers can be run here, or undefined when they can. */
export function containerProblem(): string | undefined {
  return namespaceProblem() ?? missingPrograms('runc', 'umoci', 'unshare', 'capsh', 'iptables-nft', 'iptables-legacy')
}

const run = promisify(execFile)
