/** Fetches the pinned Debian packages, each only once. */
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { archives, downloadFile } from './apt.ts'
import type { PinnedPackage } from './pinned-packages.ts'

/** The .deb files, in the order of the packages. */
export async function downloadPackages(
  packages: readonly PinnedPackage[],
  folder: string,
  roots?: readonly string[],
): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true })
  const mirrors = roots ?? (await archives())
  const files: string[] = []
  // One after the other: apt-helper takes no lock, and a mirror should not be stormed.
  for (const one of packages) files.push(await download(one, mirrors, folder))
  return files
}

async function download(one: PinnedPackage, roots: readonly string[], folder: string): Promise<string> {
  const file = join(folder, `${one.sha256}.deb`)
  if (await exists(file)) return file
  // Apt also leaves there what it refused.
  const unfinished = await mkdtemp(join(folder, 'unfinished-'))
  const refusals: string[] = []
  try {
    for (const root of roots)
      try {
        const aside = join(unfinished, 'deb')
        await downloadFile(`${root}/${encodeURI(one.path)}`, aside, one.sha256)
        await rename(aside, file)
        return file
      } catch (error) {
        refusals.push(reasonIn(error))
      }
  } finally {
    await rm(unfinished, { recursive: true })
  }
  throw new Error(noLonger(one, refusals))
}

function noLonger({ arch, name, version }: PinnedPackage, refusals: readonly string[]): string {
  return (
    `no mirror of this machine has ${name} ${version} for ${arch} as deploy/image/packages.lock pins it ` +
    `(${refusals.join('; ') || 'it has none for this release of Debian'}). ` +
    'If a newer version has replaced it, run "npm run image -- --refresh", test the image, and commit the lock file; ' +
    'to build with the pinned versions, let apt use a snapshot of the archive'
  )
}

/** `E: Failed to fetch http://… 404  Not Found` */
function reasonIn(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return /^E: Failed to fetch (.*)$/m.exec(text)?.[1]?.replaceAll(/\s+/g, ' ') ?? text.trim()
}

async function exists(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  )
}
