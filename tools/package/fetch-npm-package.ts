/** Packages that npm would not install here, such as those for another architecture. Each is pinned by its hash. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { downloads, root } from './places.ts'

export interface PinnedPackage {
  readonly name: string
  readonly version: string
  /** As in a lock file: `sha512-…`. */
  readonly integrity: string
}

/** One of those that the lock file pins. */
export async function lockedPackage(name: string): Promise<PinnedPackage> {
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>
  }
  const { version, integrity } = packages[`node_modules/${name}`] ?? {}
  if (version === undefined || integrity === undefined) throw new Error(`package-lock.json does not pin ${name}`)
  return { name, version, integrity }
}

/** Unpacks some of its files, and returns the folder. */
export async function fetchNpmPackage(pinned: PinnedPackage, files: readonly string[]): Promise<string> {
  const tarball = await fetchTarball(pinned)
  const folder = join(downloads, tarballName(pinned).replace(/\.tgz$/, ''))
  await mkdir(folder, { recursive: true })
  const members = files.map((file) => `package/${file}`)
  await promisify(execFile)('tar', [
    '-xzf',
    tarball,
    '-C',
    folder,
    '--strip-components=1',
    '--no-same-owner',
    ...members,
  ])
  return folder
}

async function fetchTarball(pinned: PinnedPackage): Promise<string> {
  const { name, version } = pinned
  const tarball = join(downloads, tarballName(pinned))
  if (await isAsPinned(tarball, pinned)) return tarball
  await mkdir(downloads, { recursive: true })
  const folder = await mkdtemp(join(downloads, 'new-'))
  try {
    await promisify(execFile)('npm', ['pack', '--silent', `--pack-destination=${folder}`, `${name}@${version}`], {
      cwd: root,
    })
    const fetched = join(folder, tarballName(pinned))
    if (!(await isAsPinned(fetched, pinned))) throw new Error(`${name}@${version} is not what ${pinned.integrity} says`)
    await rename(fetched, tarball)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return tarball
}

async function isAsPinned(tarball: string, { integrity }: PinnedPackage): Promise<boolean> {
  const bytes = await readFile(tarball).catch(() => undefined)
  return bytes !== undefined && `sha512-${createHash('sha512').update(bytes).digest('base64')}` === integrity
}

/** As npm names it. */
function tarballName({ name, version }: PinnedPackage): string {
  return `${name.replace(/^@/, '').replace('/', '-')}-${version}.tgz`
}
