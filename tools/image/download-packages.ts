/** Fetches the pinned Debian packages, each only once. */
import { access, mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { archives, downloadFile } from './apt.ts'
import type { PinnedPackage } from './pinned-packages.ts'

/** The .deb files, in the order of the packages. */
export async function downloadPackages(packages: readonly PinnedPackage[], folder: string): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true })
  const roots = await archives()
  const files: string[] = []
  // One after the other: apt-helper takes no lock, and a mirror should not be stormed.
  for (const one of packages) files.push(await download(one, roots, folder))
  return files
}

async function download(one: PinnedPackage, roots: readonly string[], folder: string): Promise<string> {
  const file = join(folder, `${one.sha256}.deb`)
  if (await exists(file)) return file
  const aside = `${file}.${process.pid}`
  const refusals: string[] = []
  for (const root of roots)
    try {
      await downloadFile(`${root}/${encodeURI(one.path)}`, aside, one.sha256)
      await rename(aside, file)
      return file
    } catch (error) {
      refusals.push(lastLine(error))
      await rm(aside, { force: true })
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

function lastLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.trim().split('\n').at(-1) ?? text
}

async function exists(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  )
}
