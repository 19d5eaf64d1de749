/** The lower layer: Debian's tools and their libraries, without a shell and without a package manager. */
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ArchitectureName } from '../package/architectures.ts'
import { unneededFiles } from './debian-packages.ts'
import type { PinnedPackage } from './pinned-packages.ts'
import { runInto, runProgram } from './run-program.ts'

export interface DebianFile {
  readonly pinned: PinnedPackage
  readonly file: string
}

export async function makeToolsRoot(root: string, arch: ArchitectureName, debs: readonly DebianFile[]): Promise<void> {
  for (const folder of folders) await mkdir(join(root, folder), { recursive: true })
  // As Debian's installer does: the packages still have files in /lib and /sbin.
  for (const name of ['bin', 'sbin', 'lib', ...(arch === 'amd64' ? ['lib64'] : [])]) {
    await mkdir(join(root, 'usr', name), { recursive: true })
    await symlink(`usr/${name}`, join(root, name))
  }
  for (const { file } of debs) await unpack(file, root)
  await keepOnlyCopyrights(join(root, 'usr/share/doc'))
  for (const { pinned, file } of debs) await writeFileIn(root, statusPath(pinned), await controlOf(file))
  for (const [path, text] of Object.entries(files)) await writeFileIn(root, path, text)
  for (const [path, target] of Object.entries(links)) await symlink(target, join(root, path))
}

/** Mount points; a runtime cannot make them where the root is read-only. */
const folders = ['dev', 'etc/fairlead', 'proc', 'run', 'sys', 'tmp', 'usr/lib/modules', 'var/lib']

export const nonRoot = { name: 'nonroot', id: 65_532 }

const files = {
  'etc/passwd': `root:x:0:0:root:/:/nonexistent\n${nonRoot.name}:x:${nonRoot.id}:${nonRoot.id}::/:/nonexistent\n`,
  'etc/group': `root:x:0:\n${nonRoot.name}:x:${nonRoot.id}:\n`,
  // Services of the cluster's DNS and /etc/hosts of the node are both in use.
  'etc/nsswitch.conf': 'hosts: files dns\n',
}

/** Debian's scripts would make these. Fairlead itself asks for a variant by its name, e.g. iptables-legacy. */
const links = {
  'var/run': '../run',
  'usr/sbin/iptables': 'xtables-nft-multi',
  'usr/sbin/iptables-save': 'xtables-nft-multi',
  'usr/sbin/iptables-restore': 'xtables-nft-multi',
  'usr/sbin/ip6tables': 'xtables-nft-multi',
  'usr/sbin/ip6tables-save': 'xtables-nft-multi',
  'usr/sbin/ip6tables-restore': 'xtables-nft-multi',
}

async function unpack(deb: string, root: string): Promise<void> {
  const tar = `${root}.tar`
  await runInto(tar, 'dpkg-deb', ['--fsys-tarfile', deb])
  const flags = ['--keep-directory-symlink', '--no-same-owner', '--preserve-permissions', '--anchored', '--wildcards']
  await runProgram('tar', ['-x', '-f', tar, '-C', root, ...flags, ...unneededFiles.map((one) => `--exclude=${one}`)])
  await rm(tar)
}

/** Licences must be passed on; changelogs and examples need not. */
async function keepOnlyCopyrights(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue
    const path = join(folder, entry.name)
    for (const name of await readdir(path)) if (name !== 'copyright') await rm(join(path, name), { recursive: true })
  }
}

/** Where scanners look for Debian packages that no package manager has installed. */
function statusPath({ name }: PinnedPackage): string {
  return `var/lib/dpkg/status.d/${name}`
}

async function controlOf(deb: string): Promise<string> {
  return runProgram('dpkg-deb', ['--field', deb])
}

async function writeFileIn(root: string, path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), text)
}
