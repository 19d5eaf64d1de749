import { mkdtemp, readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Catalog } from '../../core/catalog.ts'
import { silentLogger } from '../../core/logger.ts'
import { systemClock } from '../../core/clock.ts'
import { node, service, slice } from '../../core/testing/objects.ts'
import { loadState, restoreState, saveState } from './saved-state.ts'
import { StateKeeper } from './state-keeper.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairlead-state-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

const file = () => join(folder, 'last-state.jsonl')

function fullCatalog(services = 3): Catalog {
  const catalog = new Catalog()
  catalog.replace('Node', [node('here', 'zone-a')])
  const names = Array.from({ length: services }, (_, i) => i + 1)
  catalog.replace(
    'Service',
    names.map((i) =>
      service(`demo/s${i}`, { clusterIP: '10.96.0.1', ports: [{ port: 80 }], externalIPs: ['192.0.2.1'] }),
    ),
  )
  catalog.replace('EndpointSlice', [slice('demo/s1-a', 's1', ['10.0.0.1', '10.0.0.2'])])
  return catalog
}

describe('the saved state', () => {
  test('gives back every record, complete', async () => {
    const before = fullCatalog(1_200)
    await saveState(folder, before, 1_234)
    const loaded = await loadState(folder)
    expect(loaded).toMatchObject({ kind: 'loaded', savedAtMs: 1_234 })
    const after = new Catalog()
    if (loaded.kind === 'loaded') restoreState(after, loaded.records)
    expect(after.isInitialised).toBe(true)
    expect([...after.services]).toEqual([...before.services])
    expect([...after.slices]).toEqual([...before.slices])
    expect([...after.nodes]).toEqual([...before.nodes])
    expect(await readdir(folder)).toEqual(['last-state.jsonl'])
  })

  test('is none on a fresh node', async () => {
    expect(await loadState(folder)).toEqual({ kind: 'none' })
    expect(await loadState(join(folder, 'missing'))).toEqual({ kind: 'none' })
  })

  test('that was cut off, changed by a byte or written by another version is not used, and says why', async () => {
    await saveState(folder, fullCatalog(), 1)
    const good = await readFile(file(), 'utf8')
    for (let length = 0; length < good.length; length += 97) {
      await writeFile(file(), good)
      await truncate(file(), length)
      expect(await loadState(folder)).toMatchObject({ kind: 'unusable', reason: `${file()} is cut off or damaged` })
    }
    await writeFile(file(), good.replace('10.0.0.2', '10.0.0.3'))
    expect(await loadState(folder)).toMatchObject({ kind: 'unusable' })
  })
})

describe('the keeper of the state', () => {
  const keeperOf = (catalog: Catalog, isRestored = false) =>
    new StateKeeper({ folder, catalog, isRestored, clock: systemClock, log: silentLogger })

  test('writes nothing before the lists are complete', async () => {
    const catalog = new Catalog()
    const keeper = keeperOf(catalog)
    catalog.replace('Service', [])
    await keeper.saveIfChanged()
    expect(await readdir(folder)).toEqual([])
    catalog.replace('EndpointSlice', [])
    await keeper.saveIfChanged()
    expect(await readdir(folder)).toHaveLength(1)
  })

  test('does not write back what it was restored from, but what changed since, also before the server has sent it all', async () => {
    const catalog = fullCatalog()
    const keeper = keeperOf(catalog, true)
    await keeper.saveIfChanged()
    expect(await readdir(folder)).toEqual([])
    catalog.upsert({ ...node('here', 'zone-b'), podCIDRs: ['10.2.0.0/24'] })
    await keeper.saveIfChanged()
    const loaded = await loadState(folder)
    expect(loaded.kind === 'loaded' && loaded.records[0]).toMatchObject({ zone: 'zone-b', podCIDRs: ['10.2.0.0/24'] })
  })

  test('writes again only after a change', async () => {
    const catalog = fullCatalog()
    const keeper = keeperOf(catalog)
    await keeper.saveIfChanged()
    await rm(file())
    await keeper.saveIfChanged()
    expect(await readdir(folder)).toEqual([])
    catalog.upsert(service('demo/new', { clusterIP: '10.96.0.9', ports: [{ port: 80 }] }))
    await keeper.saveIfChanged()
    expect(await readdir(folder)).toHaveLength(1)
  })

  test('tries again after a failure, and saves once more when it ends', async () => {
    const catalog = fullCatalog()
    await writeFile(join(folder, 'blocked'), '')
    const warnings: string[] = []
    const log = { ...silentLogger, warn: (message: string) => warnings.push(message) }
    const blocked = join(folder, 'blocked', 'state')
    const keeper = new StateKeeper({ folder: blocked, catalog, isRestored: false, clock: systemClock, log })
    await keeper.saveIfChanged()
    expect(warnings).toEqual(['the state for an offline start could not be saved'])
    await rm(join(folder, 'blocked'))
    const stopped = AbortSignal.abort()
    await keeper.run(stopped)
    expect(await loadState(blocked)).toMatchObject({ kind: 'loaded' })
  })
})
