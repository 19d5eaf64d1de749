import { mkdtemp, rename, rm, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Catalog } from '../../core/catalog.ts'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import type { LogFields } from '../../core/logger.ts'
import { Intake } from '../intake.ts'
import { FileSource } from './file-source.ts'

const service = (name: string, clusterIP: string, extra = '') =>
  `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}${extra}}\nspec: {clusterIP: ${clusterIP}, ports: [{port: 80}]}\n`

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairlead-files-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

const put = (name: string, text: string) => writeFile(join(folder, name), text)

function setUp(...paths: string[]) {
  const catalog = new Catalog()
  const lines: string[] = []
  const note = (message: string, fields: LogFields = {}) => lines.push(`${message}: ${Object.values(fields).join(' ')}`)
  const log = { ...silentLogger, error: note, info: note, warn: note }
  const intake = new Intake({ catalog, log, metrics: { objectProblem() {} } })
  const source = new FileSource({ paths: paths.length > 0 ? paths : [folder], intake, log, clock: systemClock })
  return { catalog, source, lines, services: () => [...catalog.services.keys()].sort() }
}

describe('manifests on disk', () => {
  test('are read from a folder and from single files, with the defaults of an API server', async () => {
    await put('a.yaml', service('a', '10.96.0.1'))
    await put('b.json', JSON.stringify({ kind: 'List', items: [{ kind: 'Node', metadata: { name: 'n' } }] }))
    await put('.hidden.yaml', 'not: [good')
    await put('notes.txt', 'nothing')
    const { catalog, source } = setUp()
    expect(await source.load()).toEqual([])
    expect(catalog.services.get('default/a' as never)).toMatchObject({
      clusterIPs: { ipv4: '10.96.0.1' },
      internalTrafficPolicy: 'Cluster',
    })
    expect([...catalog.nodes.keys()]).toEqual(['n'])
    expect(catalog.isInitialised).toBe(true)
  })

  test('give a Service with addresses of two families both of them', async () => {
    await put(
      'a.yaml',
      'kind: Service\nmetadata: {name: a}\nspec: {clusterIP: 10.96.0.1, clusterIPs: [10.96.0.1, "fd00::1"]}\n',
    )
    const { catalog, source } = setUp()
    await source.load()
    expect(catalog.services.get('default/a' as never)?.clusterIPs).toEqual({ ipv4: '10.96.0.1', ipv6: 'fd00::1' })
  })

  test('need only the one cluster IP, also when they name its family', async () => {
    await put('a.yaml', 'kind: Service\nmetadata: {name: a}\nspec: {clusterIP: "fd00::1", ipFamilies: [IPv6]}\n')
    const { catalog, source } = setUp()
    await source.load()
    expect(catalog.services.get('default/a' as never)?.clusterIPs).toEqual({ ipv6: 'fd00::1' })
  })

  test('hide what an API server would not send to a proxy, and mention kinds that are none of its business', async () => {
    await put('a.yaml', service('a', '10.96.0.1', ', labels: {service.kubernetes.io/service-proxy-name: other}'))
    await put('b.yaml', 'kind: Deployment\nmetadata: {name: d}\n---\nkind: Deployment\nmetadata: {name: e}\n')
    const { source, services, lines } = setUp()
    await source.load()
    expect(services()).toEqual([])
    expect(lines).toEqual(['objects of this kind are ignored, because a service proxy does not use them: Deployment'])
  })

  test('that are broken at the start hold everything back, so that nothing is removed for lack of them', async () => {
    await put('a.yaml', service('a', '10.96.0.1'))
    await put('b.yaml', 'kind: [')
    const { catalog, source, services } = setUp()
    expect(await source.load()).toEqual([expect.stringMatching(/b\.yaml:1:\d+: /)])
    expect([catalog.isInitialised, services()]).toEqual([false, []])
    await put('b.yaml', service('b', '10.96.0.2'))
    expect(await source.load()).toEqual([])
    expect(services()).toEqual(['default/a', 'default/b'])
  })

  test('that break later leave their last good content in place', async () => {
    await put('a.yaml', service('a', '10.96.0.1'))
    const { source, services } = setUp()
    await source.load()
    await put('a.yaml', service('a', '10.96.0.1') + 'oops: [')
    expect(await source.load()).toHaveLength(1)
    expect(services()).toEqual(['default/a'])
  })

  test('that are added broken do not hold back the others', async () => {
    await put('a.yaml', service('a', '10.96.0.1'))
    const { source, services } = setUp()
    await source.load()
    await put('new.yaml', 'kind: [')
    await put('a.yaml', service('b', '10.96.0.2'))
    expect(await source.load()).toHaveLength(1)
    expect(services()).toEqual(['default/b'])
  })

  test('that hold an object twice count with the last one, and say so once', async () => {
    await put('a.yaml', service('a', '10.96.0.1'))
    await put('b.yaml', service('a', '10.96.0.2'))
    const { catalog, source, lines } = setUp()
    await source.load()
    await source.load()
    expect(catalog.services.get('default/a' as never)?.clusterIPs).toEqual({ ipv4: '10.96.0.2' })
    expect(lines).toEqual([
      `object is in the manifests more than once; the last one is used: Service default/a ${join(folder, 'b.yaml')}:1`,
    ])
  })

  test('that are deleted from a folder are gone, but a folder that vanishes is not the end of its objects', async () => {
    await put('a.yaml', service('a', '10.96.0.1'))
    await put('b.yaml', service('b', '10.96.0.2'))
    const { source, services } = setUp()
    await source.load()
    await unlink(join(folder, 'b.yaml'))
    await source.load()
    expect(services()).toEqual(['default/a'])
    await rename(folder, `${folder}-away`)
    const problems = await source.load()
    await rename(`${folder}-away`, folder)
    expect(problems[0]).toBe(`${folder}: no such file or folder`)
    expect(services()).toEqual(['default/a'])
  })

  test('that never existed are a problem with a name, and hold everything back', async () => {
    await put('a.yaml', service('a', '10.96.0.1'))
    const { source, catalog } = setUp(join(folder, 'a.yaml'), join(folder, 'nowhere.yaml'))
    expect(await source.load()).toEqual([`${join(folder, 'nowhere.yaml')}: no such file or folder`])
    expect(catalog.isInitialised).toBe(false)
  })
})

test('a running source follows edits, atomic replacement and broken files, and ends with the signal', async () => {
  await put('a.yaml', service('a', '10.96.0.1'))
  const { source, services, lines } = setUp()
  const stop = new AbortController()
  const running = source.run(stop.signal)
  await vi.waitFor(() => expect(services()).toEqual(['default/a']), 10_000)
  await put('b.yaml', service('b', '10.96.0.2'))
  await vi.waitFor(() => expect(services()).toEqual(['default/a', 'default/b']), 10_000)
  await put('new.tmp', service('c', '10.96.0.3'))
  await rename(join(folder, 'new.tmp'), join(folder, 'a.yaml'))
  await vi.waitFor(() => expect(services()).toEqual(['default/b', 'default/c']), 10_000)
  await put('b.yaml', 'kind: Service\n  bad: indent\n')
  await vi.waitFor(() => expect(lines.join()).toMatch(/last good content stays in use: .*b\.yaml:\d+:\d+: /), 10_000)
  expect(services()).toEqual(['default/b', 'default/c'])
  stop.abort()
  await running
})
