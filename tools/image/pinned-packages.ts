/** The lock file deploy/image/packages.lock: which version of which Debian package, for each architecture. */
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { architectureNames, type ArchitectureName } from '../package/architectures.ts'

export interface PinnedPackage {
  readonly arch: ArchitectureName
  readonly name: string
  readonly version: string
  /** Of the .deb file: whoever serves it, it is this one. */
  readonly sha256: string
  /** Below the root of the archive, e.g. pool/main/n/nftables/nftables_1.0.6-2_amd64.deb */
  readonly path: string
}

export interface PinnedPackages {
  /** When the versions were chosen, in seconds: the time of all files in the image. */
  readonly chosenAt: number
  readonly packages: readonly PinnedPackage[]
}

export const lockFile = fileURLToPath(new URL('../../deploy/image/packages.lock', import.meta.url))

export async function readPinnedPackages(): Promise<PinnedPackages> {
  return parsePinnedPackages(await readFile(lockFile, 'utf8'))
}

export async function writePinnedPackages(pinned: PinnedPackages): Promise<void> {
  await writeFile(lockFile, renderPinnedPackages(pinned))
}

export function parsePinnedPackages(text: string): PinnedPackages {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const [first = '', ...rest] = lines
  const day = /^chosen (\d{4}-\d\d-\d\d)$/.exec(first)?.[1]
  if (day === undefined) throw new Error(`${lockFile} does not begin with "chosen" and a day: ${first}`)
  return { chosenAt: Date.parse(`${day}T00:00:00Z`) / 1000, packages: rest.map(parseLine) }
}

function parseLine(line: string): PinnedPackage {
  const [word = '', name, version, sha256, path, ...more] = line.split(' ')
  const arch = architectureNames.find((known) => known === word)
  if (arch === undefined || !name || !version || !/^[0-9a-f]{64}$/.test(sha256 ?? '') || !path || more.length > 0)
    throw new Error(`${lockFile} has a line that is not "architecture name version sha256 path": ${line}`)
  return { arch, name, version, sha256: sha256 ?? '', path }
}

export function renderPinnedPackages({ chosenAt, packages }: PinnedPackages): string {
  const day = new Date(chosenAt * 1000).toISOString().slice(0, 10)
  const lines = architectureNames.flatMap((arch) =>
    packages
      .filter((one) => one.arch === arch)
      .map(({ name, version, sha256, path }) => [arch, name, version, sha256, path].join(' '))
      .toSorted(),
  )
  return `${header}chosen ${day}\n${lines.join('\n')}\n`
}

const header = `# The Debian packages in the image. "npm run image -- --refresh" writes this file with the newest versions.
# architecture name version sha256 path
`
