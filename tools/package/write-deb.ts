/** A package for Debian and its relatives, from the package tree. */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ArchitectureName } from './architectures.ts'
import { packageFacts } from './package-facts.ts'
import { root } from './places.ts'

export interface PackageRequest {
  readonly path: string
  readonly tree: string
  readonly version: string
  readonly architecture: ArchitectureName
  readonly epoch: number
}

export async function writeDeb({ path, tree, version, architecture, epoch }: PackageRequest): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-deb-'))
  try {
    await mkdir(join(folder, 'DEBIAN'), { mode: 0o755 })
    await cp(join(tree, 'etc'), join(folder, 'etc'), { recursive: true })
    for (const name of ['bin', 'lib', 'share'])
      await cp(join(tree, name), join(folder, 'usr', name), { recursive: true })
    const write = (name: string, text: string, mode = 0o644) => writeFile(join(folder, 'DEBIAN', name), text, { mode })
    await write('control', control(version, architecture, await installedKilobytes(folder)))
    await write('conffiles', packageFacts.configuration.map((file) => `${file}\n`).join(''))
    for (const script of ['postinst', 'prerm', 'postrm'])
      await cp(join(root, 'deploy/machine/deb', script), join(folder, 'DEBIAN', script))
    // The quickest level of xz: smaller than gzip makes it, in less time.
    await promisify(execFile)('dpkg-deb', ['--root-owner-group', '-Zxz', '-z0', '--build', folder, path], {
      env: { ...process.env, SOURCE_DATE_EPOCH: String(epoch) },
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function control(version: string, architecture: ArchitectureName, kilobytes: number): string {
  const { summary, description, homepage, maintainer } = packageFacts
  return `Package: fairlead
Version: ${version}
Architecture: ${architecture}
Maintainer: ${maintainer}
Installed-Size: ${kilobytes}
Depends: libc6 (>= 2.28), libstdc++6 (>= 5.2), libgcc-s1
Recommends: nftables
Suggests: iptables, ipset, conntrack
Section: net
Priority: optional
Homepage: ${homepage}
Description: ${summary}
${description.map((line) => ` ${line}\n`).join('')}`
}

async function installedKilobytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.endsWith('/DEBIAN'))
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size))
  return sizes.reduce((sum, size) => sum + Math.ceil(size / 1024), 0)
}
