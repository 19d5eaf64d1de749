import { createHash } from 'node:crypto'
import { chmod, mkdtemp, readFile, readdir, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ObjectKey } from '../../api/records.ts'
import { PodWeights } from '../../core/care/pod-weights.ts'
import { Catalog } from '../../core/catalog.ts'
import { silentLogger } from '../../core/logger.ts'
import { systemClock } from '../../core/clock.ts'
import { node, rawService, record, service, slice } from '../../core/testing/objects.ts'
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
  catalog.replace('EndpointSlice', [
    slice('demo/s1-a', 's1', [
      '10.0.0.1',
      { addresses: ['10.0.0.2'], nodeName: 'n', hints: { forZones: [{ name: 'z' }] } },
    ]),
  ])
  catalog.upsert(
    record('Service', {
      ...rawService('demo/wishes', {
        type: 'LoadBalancer',
        loadBalancerSourceRanges: ['10.0.0.0/8', 'fd00::/16', 'unreadable'],
        sessionAffinity: 'ClientIP',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: 30_000,
      }),
      metadata: {
        namespace: 'demo',
        name: 'wishes',
        creationTimestamp: '2026-01-01T00:00:00Z',
        annotations: { 'fairlead.dev/balancing': 'random' },
      },
    }),
  )
  catalog.upsert(
    record('ServiceCIDR', { metadata: { name: 'kubernetes' }, spec: { cidrs: ['10.96.0.0/16', 'fd00::/112'] } }),
  )
  const annotations = { 'fairlead.dev/external-ip-guard': 'deny' }
  catalog.upsert(record('Namespace', { metadata: { name: 'demo', annotations } }))
  return catalog
}

describe('the saved state', () => {
  test('gives back every record, complete', async () => {
    const before = fullCatalog(1_200)
    await saveState(folder, before, 1_234)
    const loaded = await loadState(folder)
    expect(loaded).toMatchObject({ kind: 'loaded', savedAtMs: 1_234, dropped: [] })
    const after = new Catalog()
    if (loaded.kind === 'loaded') restoreState(after, loaded.records)
    expect(after.isInitialised).toBe(true)
    expect([...after.services]).toEqual([...before.services])
    expect([...after.slices]).toEqual([...before.slices])
    expect([...after.nodes]).toEqual([...before.nodes])
    expect([...after.serviceCidrs]).toEqual([...before.serviceCidrs])
    expect([...after.namespaces]).toEqual([...before.namespaces])
    expect(await readdir(folder)).toEqual(['last-state.jsonl'])
  })

  test('has the weights of pods, where they are read', async () => {
    const catalog = fullCatalog()
    const pods = new PodWeights(catalog)
    const keeper = new StateKeeper({ folder, catalog, pods, isRestored: true, clock: systemClock, log: silentLogger })
    const canary = { key: 'demo/canary' as ObjectKey, namespace: 'demo', ips: ['10.0.0.1', 'fd00::1'], weight: 0 }
    pods.set(canary.key, canary)
    await keeper.saveIfChanged()
    expect(await loadState(folder)).toMatchObject({ kind: 'loaded', pods: [canary], dropped: [] })
    await saveState(folder, catalog, 1)
    expect(await loadState(folder)).toMatchObject({ kind: 'loaded', pods: [] })
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

/** A file as an attacker would make it, with a matching checksum. */
async function forge(...records: unknown[]): Promise<void> {
  const header = JSON.stringify({ format: 'fairlead-state/1', savedAtMs: 1 })
  const body = [header, ...records.map((it) => (typeof it === 'string' ? it : JSON.stringify(it))), ''].join('\n')
  const sha256 = createHash('sha256').update(body).digest('hex')
  await writeFile(file(), `${body}${JSON.stringify({ sha256 })}\n`, { mode: 0o600 })
}

describe('a forged state', () => {
  const good = service('demo/good', { clusterIP: '10.96.0.1', ports: [{ name: 'http', port: 80 }] })
  const goodSlice = slice('demo/s1-a', 's1', ['10.0.0.1'])
  const [goodPort] = good.ports
  const [goodEndpoint] = goodSlice.endpoints
  const rule = '-A INPUT -j ACCEPT'

  test.each<[string, unknown]>([
    ['a rule in a name', { ...good, name: `x\n${rule}` }],
    ['a rule in a namespace', { ...good, namespace: `x\n${rule}` }],
    ['a rule in a port name', { ...good, ports: [{ ...goodPort, name: `x\n${rule}` }] }],
    ['a rule in a protocol', { ...good, ports: [{ ...goodPort, protocol: `tcp\n${rule}` }] }],
    ['a rule in a cluster IP', { ...good, clusterIPs: { ipv4: `10.96.0.1\n${rule}` } }],
    ['an address of the other family', { ...good, clusterIPs: { ipv6: '10.96.0.1' } }],
    ['an address that is not canonical', { ...good, externalIPs: ['010.0.0.1'] }],
    ['a rule in a source range', { ...good, sourceRanges: [{ family: 'ipv4', network: rule, prefixLength: 8 }] }],
    [
      'a prefix length that is none',
      { ...good, sourceRanges: [{ family: 'ipv4', network: '10.0.0.0', prefixLength: '8 -j X' }] },
    ],
    ['a port that is none', { ...good, ports: [{ ...goodPort, port: 65_536 }] }],
    ['a port that is text', { ...good, ports: [{ ...goodPort, nodePort: `1 ${rule}` }] }],
    ['an unknown type', { ...good, type: 'Else' }],
    ['an unknown policy', { ...good, externalTrafficPolicy: '' }],
    ['an affinity without end', { ...good, affinitySeconds: 1e9 }],
    ['an unknown wish', { ...good, relaying: { proxyProtocol: 'x' } }],
    ['ports that are no list', { ...good, ports: {} }],
    ['a missing field', { ...good, ports: undefined }],
    ['a rule in an endpoint', { ...goodSlice, endpoints: [{ ...goodEndpoint, ip: `10.0.0.1\n${rule}` }] }],
    ['a rule in a node name', { ...goodSlice, endpoints: [{ ...goodEndpoint, nodeName: `n\n${rule}` }] }],
    ['a rule in a hint', { ...goodSlice, endpoints: [{ ...goodEndpoint, zoneHints: [`z\n${rule}`] }] }],
    ['a condition that is text', { ...goodSlice, endpoints: [{ ...goodEndpoint, ready: 'yes' }] }],
    ['a pod range that is none', { ...node('here'), podCIDRs: [rule] }],
    ['an unknown kind', { ...good, kind: 'Deployment' }],
    ['a pod without an address', { kind: 'Pod', namespace: 'demo', name: 'a', weight: 1 }],
    ['a pod that is too heavy', { kind: 'Pod', namespace: 'demo', name: 'a', ips: [], weight: 1_001 }],
    ['a rule in the name of a pod', { kind: 'Pod', namespace: 'demo', name: `a\n${rule}`, ips: [], weight: 1 }],
    ['a rule in the address of a pod', { kind: 'Pod', namespace: 'demo', name: 'a', ips: [rule], weight: 1 }],
    ['something else', ['x']],
    ['no JSON', '{'],
  ])('with %s loses that record, says which, and keeps the others', async (_, bad) => {
    await forge(good, bad, goodSlice)
    const loaded = await loadState(folder)
    expect(loaded).toMatchObject({ kind: 'loaded', records: [good, goodSlice] })
    const dropped = loaded.kind === 'loaded' ? loaded.dropped : []
    expect(dropped).toHaveLength(1)
    expect(dropped[0]).toMatch(/last-state\.jsonl:3: [^\n]+ cannot be [^\n]+$/)
  })

  test('of a megabyte is told in a line', async () => {
    await forge({ ...good, name: 'x'.repeat(1 << 20) })
    const loaded = await loadState(folder)
    expect(loaded.kind === 'loaded' && loaded.dropped[0]?.length).toBeLessThan(1_000)
  })

  const hasModes = process.platform !== 'win32'
  test.skipIf(!hasModes)(
    'that is a link, or that others may write, is not read at all (needs modes of files)',
    async () => {
      await saveState(folder, fullCatalog(), 1)
      await chmod(file(), 0o666)
      expect(await loadState(folder)).toMatchObject({ kind: 'unusable', reason: expect.stringContaining('mode 0666') })
      await rename(file(), join(folder, 'elsewhere'))
      await symlink(join(folder, 'elsewhere'), file())
      expect(await loadState(folder)).toMatchObject({
        kind: 'unusable',
        reason: expect.stringContaining('symbolic link'),
      })
    },
  )

  test('with a header that is no JSON is not used', async () => {
    const sha256 = createHash('sha256').update('{\n').digest('hex')
    await writeFile(file(), `{\n${JSON.stringify({ sha256 })}\n`, { mode: 0o600 })
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
