/** Writes images as OCI layouts, packed with tar: what `ctr images import`, `docker load` and `skopeo copy` read. */
import { createHash } from 'node:crypto'
import { link, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ArchitectureName } from '../package/architectures.ts'
import type { ImageConfig } from './image-config.ts'
import type { Layer } from './layer.ts'
import { packFolder } from './pack-folder.ts'

export interface Image {
  readonly arch: ArchitectureName
  /** From the lowest on. */
  readonly layers: readonly Layer[]
  readonly config: ImageConfig
  /** In seconds. */
  readonly createdAt: number
}

export interface Name {
  readonly name: string
  readonly tag: string
}

interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

/** One image; several become an index, from which a machine takes the one of its architecture. */
export async function writeLayout(file: string, images: readonly Image[], { name, tag }: Name): Promise<void> {
  const folder = await mkdtemp(`${file}.`)
  try {
    const blobs = new Blobs(folder)
    const manifests: (Descriptor & { readonly platform: object })[] = []
    for (const image of images) {
      const platform = { architecture: image.arch, os: 'linux' }
      manifests.push({ ...(await addImage(blobs, image)), platform })
    }
    const [only] = manifests
    const top =
      only !== undefined && manifests.length === 1
        ? only
        : await blobs.add(index, { schemaVersion: 2, mediaType: index, manifests })
    const annotations = {
      'org.opencontainers.image.ref.name': tag,
      // containerd gives the image this name.
      'io.containerd.image.name': `docker.io/library/${name}:${tag}`,
    }
    await writeJson(folder, 'oci-layout', { imageLayoutVersion: '1.0.0' })
    await writeJson(folder, 'index.json', { schemaVersion: 2, mediaType: index, manifests: [{ ...top, annotations }] })
    const [image] = images
    if (image !== undefined && images.length === 1)
      await addForOldDocker(folder, await addConfig(blobs, image), image, { name, tag })
    const packed = `${folder}.tar`
    await packFolder(folder, Math.max(...images.map(({ createdAt }) => createdAt)), packed)
    await rename(packed, file)
  } finally {
    await rm(folder, { recursive: true })
  }
}

const index = 'application/vnd.oci.image.index.v1+json'
const manifest = 'application/vnd.oci.image.manifest.v1+json'
const configuration = 'application/vnd.oci.image.config.v1+json'
const layer = 'application/vnd.oci.image.layer.v1.tar+gzip'

async function addImage(blobs: Blobs, image: Image): Promise<Descriptor> {
  const layers: Descriptor[] = []
  for (const one of image.layers) {
    await blobs.addFile(one.digest, one.file)
    layers.push({ mediaType: layer, digest: one.digest, size: one.size })
  }
  return blobs.add(manifest, { schemaVersion: 2, mediaType: manifest, config: await addConfig(blobs, image), layers })
}

async function addConfig(blobs: Blobs, { arch, layers, config, createdAt }: Image): Promise<Descriptor> {
  const created = new Date(createdAt * 1000).toISOString()
  return blobs.add(configuration, {
    architecture: arch,
    os: 'linux',
    created,
    config,
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ comment }) => ({ created, created_by: 'npm run image', comment })),
  })
}

/** Docker before version 25 does not know OCI layouts, but the same blobs with a table of contents of its own. */
async function addForOldDocker(folder: string, config: Descriptor, image: Image, { name, tag }: Name): Promise<void> {
  const contents = {
    Config: blobPath(config.digest),
    RepoTags: [`${name}:${tag}`],
    Layers: image.layers.map(({ digest }) => blobPath(digest)),
  }
  await writeJson(folder, 'manifest.json', [contents])
}

class Blobs {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async add(mediaType: string, content: object): Promise<Descriptor> {
    const text = JSON.stringify(content)
    const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`
    await writeText(this.#folder, blobPath(digest), text)
    return { mediaType, digest, size: Buffer.byteLength(text) }
  }

  async addFile(digest: string, file: string): Promise<void> {
    const path = join(this.#folder, blobPath(digest))
    await mkdir(dirname(path), { recursive: true })
    await link(file, path)
  }
}

function blobPath(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`
}

async function writeJson(folder: string, path: string, content: object): Promise<void> {
  await writeText(folder, path, JSON.stringify(content))
}

async function writeText(folder: string, path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true })
  await writeFile(join(folder, path), text)
}
