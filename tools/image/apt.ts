/** Apt of the machine that builds, with its own mirrors, but for any architecture and without touching its state. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ArchitectureName } from '../package/architectures.ts'
import { suite } from './debian-packages.ts'
import type { PinnedPackage } from './pinned-packages.ts'
import { runProgram } from './run-program.ts'

/** The newest versions of these packages, and of what they depend on. Apt checks the signature of the archive. */
export async function resolvePackages(
  folder: string,
  arch: ArchitectureName,
  names: readonly string[],
): Promise<readonly PinnedPackage[]> {
  const options = await privateApt(folder, arch)
  await runProgram('apt-get', [...options, '--quiet=2', 'update'])
  const install = ['--quiet=2', '--no-install-recommends', '--print-uris', 'install', ...names]
  const listed = await runProgram('apt-get', [...options, ...install])
  return listed
    .split('\n')
    .filter((line) => line.startsWith("'"))
    .map((line) => ({ arch, ...parseUriLine(line) }))
}

/** The roots of the archives that this machine has a source for, in the order of its sources. */
export async function archives(): Promise<readonly string[]> {
  return [...new Set((await debianSources()).flatMap(({ uris }) => uris))]
}

/** A file of an archive, if it has it. Apt knows the proxies of the machine, and checks the hash. */
export async function downloadFile(url: string, file: string, sha256: string): Promise<void> {
  const helper = ['-o', 'APT::Sandbox::User=root', 'download-file', url, file, `SHA256:${sha256}`]
  await runProgram('/usr/lib/apt/apt-helper', helper)
}

/** `'http://host/debian/pool/main/n/nftables/nftables_1.0.6-2_amd64.deb' nftables_1.0.6-2_amd64.deb 70032 SHA256:…` */
export function parseUriLine(line: string): Omit<PinnedPackage, 'arch'> {
  const [, uri, file = '', sha256] = /^'([^']+)' (\S+) \d+ SHA256:([0-9a-f]{64})$/.exec(line) ?? []
  // In this name the colon of an epoch is %3a.
  const [name, version] = decodeURIComponent(file).split('_')
  const path = decodeURIComponent(uri ?? '').replace(/^.*?\/(?=pool\/)/, '')
  if (!name || !version || sha256 === undefined) throw new Error(`apt-get printed a line without a SHA256: ${line}`)
  return { name, version, sha256, path }
}

async function privateApt(folder: string, arch: ArchitectureName): Promise<readonly string[]> {
  const sources = await debianSources()
  if (sources.length === 0) throw new Error(noSources)
  await mkdir(join(folder, 'lists'), { recursive: true })
  const file = join(folder, 'debian.sources')
  await writeFile(file, sources.map(({ stanza }) => stanza).join('\n\n'))
  const settings = {
    'APT::Architecture': arch,
    'APT::Architectures': arch,
    'APT::Sandbox::User': 'root',
    // For --print-uris, which would print MD5 sums.
    'Acquire::ForceHash': 'SHA256',
    'Dir::Cache': folder,
    'Dir::Etc::sourcelist': file,
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::State': folder,
    // Nothing is installed, so everything that is needed is listed.
    'Dir::State::status': '/dev/null',
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])
}

interface Source {
  readonly stanza: string
  readonly uris: readonly string[]
}

const noSources =
  `no source of this machine's apt has the packages of Debian ${suite}: ` +
  'add one to /etc/apt/sources.list.d, or build with deploy/image/Dockerfile'

/** Those of the release. A machine may have others, e.g. of Node.js. */
async function debianSources(): Promise<readonly Source[]> {
  const folder = '/etc/apt/sources.list.d'
  const names = (await readdir(folder).catch((): string[] => [])).toSorted()
  const texts = names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const)
  const list = await readFile('/etc/apt/sources.list', 'utf8').catch(() => '')
  return [...(await Promise.all(texts)), ['sources.list', list] as const].flatMap(([name, text]) =>
    name.endsWith('.sources') ? stanzasOf(text) : name.endsWith('.list') ? linesOf(text) : [],
  )
}

export function stanzasOf(text: string): readonly Source[] {
  const field = (stanza: string, name: string) =>
    (new RegExp(`^${name}:(.*)$`, 'im').exec(stanza)?.[1] ?? '').split(/\s+/).filter((word) => word !== '')
  return text
    .split(/\n\s*\n/)
    .map((stanza) => stanza.replaceAll(/^#.*\n?/gm, '').trim())
    .filter((stanza) => field(stanza, 'Types').includes('deb') && field(stanza, 'Suites').some(isOfRelease))
    .map((stanza) => ({ stanza, uris: field(stanza, 'URIs').map(withoutSlash) }))
}

/** The older format, `deb [signed-by=…] URI SUITE COMPONENT…`, as a stanza. */
export function linesOf(text: string): readonly Source[] {
  return text.split('\n').flatMap((line) => {
    const [, options = '', uri, name, components] = /^deb\s+(?:\[(.*?)\]\s+)?(\S+)\s+(\S+)\s+(.+)$/.exec(line) ?? []
    if (uri === undefined || name === undefined || !isOfRelease(name)) return []
    const key = /signed-by=(\S+)/.exec(options)?.[1]
    const stanza = [
      'Types: deb',
      `URIs: ${uri}`,
      `Suites: ${name}`,
      `Components: ${components}`,
      ...(key === undefined ? [] : [`Signed-By: ${key}`]),
    ].join('\n')
    return [{ stanza, uris: [withoutSlash(uri)] }]
  })
}

function isOfRelease(name: string): boolean {
  return name === suite || name.startsWith(`${suite}-`) || name.startsWith(`${suite}/`)
}

function withoutSlash(uri: string): string {
  return uri.replace(/\/+$/, '')
}
