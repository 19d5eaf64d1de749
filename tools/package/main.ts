/**
 * `npm run package [-- --arch=amd64,arm64]`: for each architecture a package tree, a tarball, a .deb and a .rpm in
 * .cache/package. The same sources make the same bytes; SOURCE_DATE_EPOCH is the time that files get, by default that of the
 * last commit.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { architectureHere, architectures, parseArchitectures } from './architectures.ts'
import { buildSbom } from './build-sbom.ts'
import { buildTree, treeName } from './build-tree.ts'
import { bundle } from './bundle.ts'
import { generatedTexts } from './generated-texts.ts'
import { packages, root } from './places.ts'
import { writeDeb } from './write-deb.ts'
import { writeRpm } from './write-rpm.ts'
import { writeTarball } from './write-tarball.ts'

const { values } = parseArgs({
  options: {
    arch: { type: 'string', default: architectureHere() },
    // What an image is made from.
    'tree-only': { type: 'boolean', default: false },
  },
})
const names = parseArchitectures(values.arch)
const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
const epoch = sourceDate()

const parts = {
  version,
  code: await bundle(version),
  sbom: await buildSbom(epoch),
  texts: generatedTexts(version, epoch),
}
for (const name of names) {
  const tree = await buildTree(parts, name)
  say(tree)
  if (values['tree-only']) continue
  const tarball = join(packages, `${treeName(version, name)}.tar.gz`)
  await writeTarball(tarball, tree, epoch)
  await sayFile(tarball)
  const deb = join(packages, `fairlead_${version}_${name}.deb`)
  await writeDeb({ path: deb, tree, version, architecture: name, epoch })
  await sayFile(deb)
  const rpm = join(packages, `fairlead-${version}-1.${architectures[name].rpm}.rpm`)
  if (spawnSync('rpmbuild', ['--version']).status === 0) {
    await writeRpm({ path: rpm, tree, version, architecture: name, epoch })
    await sayFile(rpm)
  } else say(rpm, ' is not made: rpmbuild is not installed (Debian package rpm)')
}

function sourceDate(): number {
  const given = process.env['SOURCE_DATE_EPOCH'] ?? ''
  if (given !== '') return Number(given)
  return Number(execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }))
}

async function sayFile(path: string): Promise<void> {
  say(path, ` (${((await stat(path)).size / 1e6).toFixed(1)} MB)`)
}

function say(path: string, more = ''): void {
  process.stdout.write(`${relative(root, path)}${more}\n`)
}
