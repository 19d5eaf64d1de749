/** Writes an OCI image archive, as `ctr images import` reads it: several names may share layers. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { link, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { arch } from 'node:os'
import { join } from 'node:path'
import { run } from '../run.ts'

export interface Image {
  readonly names: readonly string[]
  /** Tar files, the lowest first. */
  readonly layers: readonly string[]
  readonly config: {
    readonly Entrypoint?: readonly string[]
    readonly Cmd?: readonly string[]
    readonly Env?: readonly string[]
  }
}

interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

export async function writeOciArchive(path: string, images: readonly Image[]): Promise<void> {
  const folder = `${path}.${process.pid}.folder`
  const blobs = join(folder, 'blobs/sha256')
  await mkdir(blobs, { recursive: true })
  try {
    const manifests = []
    for (const image of images) {
      const manifest = await writeManifest(blobs, image)
      for (const name of image.names)
        manifests.push({ ...manifest, annotations: { 'io.containerd.image.name': name }, platform: linux })
    }
    const index = { schemaVersion: 2, mediaType: 'application/vnd.oci.image.index.v1+json', manifests }
    await writeFile(join(folder, 'index.json'), JSON.stringify(index))
    await writeFile(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
    await run('tar', ['--create', `--file=${path}.${process.pid}`, '-C', folder, 'oci-layout', 'index.json', 'blobs'])
    await rename(`${path}.${process.pid}`, path)
  } finally {
    await rm(folder, { recursive: true, force: true })
    await rm(`${path}.${process.pid}`, { force: true })
  }
}

const linux = { os: 'linux', architecture: arch() === 'x64' ? 'amd64' : arch() }

async function writeManifest(blobs: string, image: Image): Promise<Descriptor> {
  const layers: Descriptor[] = []
  for (const layer of image.layers) layers.push(await addLayer(blobs, layer))
  const config = await addJson(blobs, 'application/vnd.oci.image.config.v1+json', {
    ...linux,
    config: image.config,
    rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
  })
  const mediaType = 'application/vnd.oci.image.manifest.v1+json'
  return addJson(blobs, mediaType, { schemaVersion: 2, mediaType, config, layers })
}

/** Not compressed, so its digest is also that of its content, and no time is spent on packing and unpacking. */
async function addLayer(blobs: string, file: string): Promise<Descriptor> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer)
  const digest = hash.digest('hex')
  await link(file, join(blobs, digest)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  return {
    mediaType: 'application/vnd.oci.image.layer.v1.tar',
    digest: `sha256:${digest}`,
    size: (await stat(file)).size,
  }
}

async function addJson(blobs: string, mediaType: string, value: object): Promise<Descriptor> {
  const text = JSON.stringify(value)
  const digest = createHash('sha256').update(text).digest('hex')
  await writeFile(join(blobs, digest), text)
  return { mediaType, digest: `sha256:${digest}`, size: Buffer.byteLength(text) }
}
