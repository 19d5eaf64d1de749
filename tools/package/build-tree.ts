/** The package tree: the files of a package as they lie below a prefix such as /usr. Only `etc` belongs to /etc. */
import { chmod, copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { compileEbpf } from '../compile-ebpf.ts'
import { compileNativeRelay } from '../compile-native-relay.ts'
import { architectures } from './architectures.ts'
import type { ArchitectureName } from './architectures.ts'
import { buildExecutable } from './build-executable.ts'
import type { Bundle } from './bundle.ts'
import { fetchNpmPackage, lockedPackage } from './fetch-npm-package.ts'
import { instanceUnit } from './instance-unit.ts'
import { readableFiles } from './pages.ts'
import { pinnedNode } from './pinned-node.ts'
import { packages, root } from './places.ts'

export interface TreeParts {
  readonly version: string
  readonly code: Bundle
  readonly sbom: string
  /** Texts that are made from the program itself, by their path in the tree. */
  readonly texts: Readonly<Record<string, string>>
}

const unitPath = 'lib/systemd/system/fairlead.service'

/** Files of this repository, by their path in the tree. */
const copied: Readonly<Record<string, string>> = {
  [unitPath]: 'deploy/machine/fairlead.service',
  'etc/fairlead/config.yaml': 'deploy/machine/config.yaml',
  'etc/default/fairlead': 'deploy/machine/default',
}

export function treeName(version: string, name: ArchitectureName): string {
  return `fairlead-${version}-linux-${name}`
}

/** Returns its folder. One that is there already is replaced at once, when the new one is complete. */
export async function buildTree(parts: TreeParts, name: ArchitectureName): Promise<string> {
  await mkdir(packages, { recursive: true })
  const unfinished = await mkdtemp(join(packages, 'unfinished-'))
  try {
    await fillTree(unfinished, parts, name)
    const tree = join(packages, treeName(parts.version, name))
    await chmod(unfinished, 0o755)
    await rm(tree, { recursive: true, force: true })
    await rename(unfinished, tree)
    return tree
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
}

async function fillTree(tree: string, { code, sbom, texts }: TreeParts, name: ArchitectureName): Promise<void> {
  const architecture = architectures[name]
  const at = async (path: string): Promise<string> => {
    await mkdir(dirname(join(tree, path)), { recursive: true, mode: 0o755 })
    return join(tree, path)
  }
  const executable = await at('bin/fairlead')
  await buildExecutable(executable, code, architecture)
  await chmod(executable, 0o755)

  // Static: it must run with any C library, and with none.
  const relay = await at('lib/fairlead/relay')
  await compileNativeRelay(relay, { linking: 'static-pie', compiler: `${architecture.tools}gcc`, more: ['-s'] })
  await chmod(relay, 0o755)

  // The same for every processor.
  const ebpfObject = await at('lib/fairlead/fairlead.bpf.o')
  await compileEbpf(ebpfObject)
  await chmod(ebpfObject, 0o644)

  const koffi = await lockedPackage(`@koromix/koffi-linux-${architecture.node}`)
  const binary = `linux_${architecture.node}/koffi.node`
  await copyPlain(join(await fetchNpmPackage(koffi, [binary]), binary), await at('lib/fairlead/koffi.node'))

  const node = await fetchNpmPackage(pinnedNode(architecture.node), ['LICENSE'])
  await copyPlain(join(node, 'LICENSE'), await at('share/doc/fairlead/LICENSE.nodejs'))
  for (const path of await readableFiles()) await copyPlain(join(root, path), await at(`share/doc/fairlead/${path}`))
  for (const [path, source] of Object.entries(copied)) await copyPlain(join(root, source), await at(path))
  const unit = await readFile(join(root, copied[unitPath] ?? ''), 'utf8')
  await writePlain(await at('lib/systemd/system/fairlead@.service'), instanceUnit(unit))
  for (const [path, text] of Object.entries({ ...texts, 'share/doc/fairlead/sbom.cdx.json': sbom }))
    await writePlain(await at(path), text)
}

async function copyPlain(from: string, to: string): Promise<void> {
  await copyFile(from, to)
  await chmod(to, 0o644)
}

async function writePlain(path: string, text: string): Promise<void> {
  await writeFile(path, text)
  await chmod(path, 0o644)
}
