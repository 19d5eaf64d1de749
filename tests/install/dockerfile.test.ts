/**
 * The Dockerfile and `npm run image` make the same image. Buildah builds its last stage, with what the stage before would have
 * made; that stage runs `npm run image -- --roots`, which makes the folders of this test too.
 */
import { execFile } from 'node:child_process'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { imageConfig } from '../../tools/image/image-config.ts'
import { makeRoots } from '../../tools/image/make-image.ts'
import { readProduct } from '../../tools/image/product.ts'
import { root } from '../../tools/package/places.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { missingPrograms } from '../packet/testing/iptables-variant.ts'
import { describeUnless } from '../packet/testing/proxies.ts'
import { filesIn } from './testing/files-in.ts'
import { ingredientsFor, makingProblem } from './testing/image-fixture.ts'

const run = promisify(execFile)
const dockerfile = join(root, 'deploy/image/Dockerfile')

test('copies only what there is', async () => {
  const text = await readFile(dockerfile, 'utf8')
  const copied = [...text.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, words = '']) => words.split(' '))
  expect(copied).toContain('package.json')
  for (const path of copied) await access(join(root, path))
})

test('runs only scripts that there are', async () => {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { scripts: object }
  const used = [...(await readFile(dockerfile, 'utf8')).matchAll(/npm run (?:--silent )?([\w:]+)/g)].map(
    ([, name]) => name,
  )
  expect(used.length).toBeGreaterThan(0)
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(used))
})

describeUnless(makingProblem() ?? missingPrograms('buildah'), 'built by buildah', () => {
  let folder: TemporaryFolder
  let storage: readonly string[]
  beforeAll(async () => {
    folder = await TemporaryFolder.make()
    storage = ['--root', join(folder.path, 'storage'), '--runroot', join(folder.path, 'run'), '--storage-driver=vfs']
    await makeRoots(await ingredientsFor('amd64', folder.path), join(folder.path, 'context/image'))
    const text = await readFile(dockerfile, 'utf8')
    const lastStage = text.slice(text.indexOf('FROM scratch')).replaceAll('--from=build ', '')
    const file = await folder.write('Dockerfile', lastStage)
    const args = ['--isolation=chroot', '--build-arg=REVISION=abc', '--tag=fairlead:test', `--file=${file}`]
    await run('buildah', [...storage, 'bud', ...args, join(folder.path, 'context')])
  })
  afterAll(() => folder?.[Symbol.asyncDispose]())

  test('says the same about itself as the one of npm run image', async () => {
    const { stdout } = await run('buildah', [...storage, 'inspect', '--type=image', 'fairlead:test'])
    const { OCIv1 } = JSON.parse(stdout) as { OCIv1: { config: { Labels: Record<string, string> } } }
    const { 'io.buildah.version': _buildah, ...Labels } = OCIv1.config.Labels
    expect({ ...OCIv1.config, Labels }).toEqual(imageConfig({ ...(await readProduct()), revision: 'abc' }))
  })

  test('has the same files', async () => {
    const { stdout: container } = await run('buildah', [...storage, 'from', '--pull-never', 'fairlead:test'])
    const { stdout: mounted } = await run('buildah', [...storage, 'mount', container.trim()])
    const layers = ['tools', 'fairlead'].map((name) => filesIn(join(folder.path, 'context/image', name)))
    const expected = new Map((await Promise.all(layers)).flatMap((files) => [...files]))
    expect(await filesIn(mounted.trim())).toEqual(expected)
    await run('buildah', [...storage, 'umount', container.trim()])
  })
})
