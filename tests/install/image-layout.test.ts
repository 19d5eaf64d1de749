/** What `npm run image` writes, in the eyes of programs that know nothing of how it was made: skopeo, tar and readelf. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { architectureNames } from '../../tools/package/architectures.ts'
import { imageConfig } from '../../tools/image/image-config.ts'
import { writeLayout } from '../../tools/image/oci-layout.ts'
import { readPinnedPackages } from '../../tools/image/pinned-packages.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { missingPrograms } from '../packet/testing/iptables-variant.ts'
import { describeUnless } from '../packet/testing/proxies.ts'
import { type ImageFile, makeImageFile, makingProblem, product } from './testing/image-fixture.ts'
import { filesIn } from './testing/files-in.ts'

const run = promisify(execFile)

describeUnless(makingProblem() ?? missingPrograms('skopeo', 'readelf'), 'npm run image', () => {
  let folder: TemporaryFolder
  const made = new Map<string, ImageFile>()
  const roots = new Map<string, string>()
  beforeAll(async () => {
    folder = await TemporaryFolder.make()
    for (const arch of architectureNames) {
      const image = await makeImageFile(arch, folder.path)
      made.set(arch, image)
      const root = join(folder.path, `root-${arch}`)
      await mkdir(root)
      for (const { file } of image.image.layers) await run('tar', ['-xzpf', file, '-C', root])
      roots.set(arch, root)
    }
  })
  afterAll(() => folder?.[Symbol.asyncDispose]())

  describe.each(architectureNames)('for %s', (arch) => {
    test.each(['oci-archive', 'docker-archive'])('is an image that skopeo reads as %s', async (format) => {
      const image = `${format}:${made.get(arch)?.file}`
      const { stdout } = await run('skopeo', ['inspect', '--config', image])
      const { User, Env, Entrypoint, WorkingDir, Labels } = imageConfig(product)
      expect(JSON.parse(stdout)).toMatchObject({
        architecture: arch,
        os: 'linux',
        created: '2023-11-14T22:13:20Z',
        config: { User, Env, Entrypoint, WorkingDir, Labels },
      })
    })

    test('has every library that a program or library in it needs', async () => {
      const root = roots.get(arch) ?? ''
      const files = await filesIn(root)
      const names = new Set([...files.keys()].map((path) => path.split('/').at(-1)))
      const programs = [...files].filter(([path, { kind }]) => kind === 'file' && /^usr\/(s?bin|lib)\//.test(path))
      const { stdout } = await run('readelf', ['-d', ...programs.map(([path]) => join(root, path))], {
        maxBuffer: 2 ** 26,
      }).catch((error: { stdout: string }) => error)
      const needed = new Set([...stdout.matchAll(/\(NEEDED\).*\[(.*)\]/g)].map(([, name]) => name))
      expect(needed.size).toBeGreaterThan(15)
      expect([...needed].filter((name) => !names.has(name))).toEqual([])
    })

    test('has no shell, no package manager, and nothing that gives privileges or that others may change', async () => {
      const files = await filesIn(roots.get(arch) ?? '')
      const programs = [...files.keys()].filter((path) => /^usr\/s?bin\//.test(path)).map((path) => path.split('/')[2])
      expect(programs).toEqual(expect.arrayContaining(['fairlead', 'nft', 'ipset', 'conntrack', 'modprobe']))
      for (const name of ['sh', 'bash', 'dash', 'busybox', 'apt', 'dpkg', 'perl']) expect(programs).not.toContain(name)
      const unsafe = [...files].filter(([, { kind, mode }]) => kind !== 'link' && (mode & 0o7022) !== 0)
      expect(unsafe).toEqual([])
    })

    test('has both variants of iptables, by the names that Fairlead asks for', async () => {
      const files = await filesIn(roots.get(arch) ?? '')
      for (const name of ['iptables', 'ip6tables'])
        for (const variant of ['nft', 'legacy'])
          for (const tool of ['', '-save', '-restore'])
            expect(files.get(`usr/sbin/${name}-${variant}${tool}`)).toMatchObject({
              target: `xtables-${variant}-multi`,
            })
    })

    test('lists what it holds: for scanners, and in an SBOM inside and outside', async () => {
      const { packages } = await readPinnedPackages()
      const names = packages.filter((one) => one.arch === arch).map(({ name }) => name)
      const root = roots.get(arch) ?? ''
      expect((await readdir(join(root, 'var/lib/dpkg/status.d'))).toSorted()).toEqual(names.toSorted())
      const inside = await readFile(join(root, 'usr/share/doc/fairlead/image.cdx.json'), 'utf8')
      expect(inside).toBe(made.get(arch)?.sbom)
      const { bomFormat, components } = JSON.parse(inside) as { bomFormat: string; components: { name: string }[] }
      expect(bomFormat).toBe('CycloneDX')
      expect(components.map(({ name }) => name)).toEqual([...names, 'fairlead', 'yaml'])
    })

    test('passes on the licence of each package', async () => {
      const doc = join(roots.get(arch) ?? '', 'usr/share/doc')
      const { packages } = await readPinnedPackages()
      for (const { name } of packages.filter((one) => one.arch === arch))
        await expect(readFile(join(doc, name, 'copyright'), 'utf8')).resolves.not.toBe('')
    })
  })

  test('makes an index from which each machine takes its image', async () => {
    const file = join(folder.path, 'all.tar')
    await writeLayout(
      file,
      [...made.values()].map(({ image }) => image),
      { name: 'fairlead', tag: '0.1.0' },
    )
    for (const arch of architectureNames) {
      const select = [`--override-arch=${arch}`, '--override-os=linux']
      const { stdout } = await run('skopeo', [...select, 'inspect', '--config', `oci-archive:${file}`])
      expect(JSON.parse(stdout)).toMatchObject({ architecture: arch })
    }
  })

  test('makes the same bytes from the same ingredients', async () => {
    const before = made.get('amd64')?.file ?? ''
    await using again = await TemporaryFolder.make()
    const { file } = await makeImageFile('amd64', again.path)
    expect(await sha256(file)).toBe(await sha256(before))
  })
})

async function sha256(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
}
