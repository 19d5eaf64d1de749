import { expect, test } from 'vitest'
import { routeKey } from '../../core/route.ts'
import { service, slice } from '../../core/testing/objects.ts'
import { never, setUp } from './testing/backend-site.ts'

const web = (spec: Record<string, unknown> = {}) =>
  service('demo/web', { clusterIP: '10.96.0.1', ports: [{ port: 80, nodePort: 30_080 }], type: 'NodePort', ...spec })
const pods = (...ips: readonly string[]) => slice('demo/web-1', 'web', ips)
const key = routeKey('demo', 'web', '', 'TCP')

async function counting(...ips: readonly string[]) {
  const site = setUp({ countsConnections: (routes) => routes <= 10 })
  site.catalog.upsert(web())
  site.catalog.upsert(pods(...ips))
  await site.sync(true)
  const { kernel } = site
  const enter = (chain: 'KUBE-SERVICES' | 'KUBE-NODEPORTS', packets: number) =>
    kernel.count('nat', chain, (rule) => rule.includes('demo/web'), packets)
  const reach = async (address: string, packets: number) => {
    const dnat = `--to-destination ${address}:8080`
    const saved = (await kernel.save('nat', never)).split('\n').find((line) => line.includes(dnat)) ?? ''
    kernel.count('nat', saved.split(' ')[1] ?? '', (rule) => rule.includes(dnat), packets)
  }
  const refuse = (chain: string, packets: number) =>
    kernel.count('filter', chain, (rule) => rule.includes('demo/web has no'), packets)
  const traffic = async () => (await site.backend.traffic(never)).get(key)
  return { ...site, enter, reach, refuse, traffic }
}

const endpoints = (counts: Readonly<Record<string, number>>) =>
  new Map(Object.entries(counts).map(([ip, connections]) => [`${ip}:8080`, { connections }]))

test('connections are counted by where they enter and by whom they reach', async () => {
  const { enter, reach, traffic } = await counting('10.64.0.1', '10.64.0.2')
  expect(await traffic()).toMatchObject({ connections: 0, turnedAway: { 'no-endpoint': 0 } })
  enter('KUBE-SERVICES', 3)
  enter('KUBE-NODEPORTS', 4)
  await reach('10.64.0.1', 5)
  await reach('10.64.0.2', 2)
  expect(await traffic()).toMatchObject({ connections: 7, endpoints: endpoints({ '10.64.0.1': 5, '10.64.0.2': 2 }) })
})

test('a change of endpoints touches no counter that stays, so none is read', async () => {
  const { enter, reach, traffic, catalog, sync, kernel } = await counting('10.64.0.1', '10.64.0.2')
  enter('KUBE-SERVICES', 3)
  await reach('10.64.0.1', 2)
  await reach('10.64.0.2', 1)
  catalog.upsert(pods('10.64.0.1', '10.64.0.3'))
  await sync()
  expect(kernel.counterReadings).toEqual([])
  expect(await traffic()).toMatchObject({ connections: 3, endpoints: endpoints({ '10.64.0.1': 2, '10.64.0.3': 0 }) })
})

test('a Service that loses its last endpoint, and gets one again, loses no count', async () => {
  const { enter, refuse, traffic, catalog, sync } = await counting('10.64.0.1')
  enter('KUBE-SERVICES', 3)
  enter('KUBE-NODEPORTS', 1)
  catalog.upsert(pods())
  await sync()
  expect(await traffic()).toMatchObject({ connections: 4, turnedAway: { 'no-endpoint': 0 } })
  refuse('KUBE-SERVICES', 2)
  refuse('KUBE-EXTERNAL-SERVICES', 5)
  catalog.upsert(pods('10.64.0.1'))
  await sync()
  enter('KUBE-SERVICES', 1)
  expect(await traffic()).toMatchObject({ connections: 5, turnedAway: { 'no-endpoint': 7 } })
})

test('a Service that changes keeps the counts of the addresses that stay and of those that go', async () => {
  const { enter, reach, traffic, catalog, sync } = await counting('10.64.0.1')
  enter('KUBE-SERVICES', 3)
  enter('KUBE-NODEPORTS', 4)
  await reach('10.64.0.1', 7)
  catalog.upsert(web({ type: 'ClusterIP', ports: [{ port: 80 }] }))
  await sync()
  expect(await traffic()).toMatchObject({ connections: 7, endpoints: endpoints({ '10.64.0.1': 7 }) })
})

test('affinity rewrites the chains of endpoints, and their counts are kept', async () => {
  const { reach, traffic, catalog, sync } = await counting('10.64.0.1')
  await reach('10.64.0.1', 7)
  catalog.upsert(web({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } } }))
  await sync()
  await reach('10.64.0.1', 1)
  expect(await traffic()).toMatchObject({ endpoints: endpoints({ '10.64.0.1': 8 }) })
})

test('a full sync writes everything anew, and loses no count', async () => {
  const { enter, reach, traffic, sync } = await counting('10.64.0.1')
  enter('KUBE-SERVICES', 3)
  await reach('10.64.0.1', 3)
  await sync(true)
  enter('KUBE-SERVICES', 2)
  expect(await traffic()).toMatchObject({ connections: 5, endpoints: endpoints({ '10.64.0.1': 3 }) })
})

test('a sync that fails counts nothing twice, and the next one loses nothing', async () => {
  const { enter, traffic, catalog, sync, kernel } = await counting('10.64.0.1')
  enter('KUBE-SERVICES', 3)
  catalog.upsert(pods())
  kernel.failures = 1
  await expect(sync()).rejects.toThrow('lock')
  expect(await traffic()).toMatchObject({ connections: 3 })
  await sync(true)
  expect(await traffic()).toMatchObject({ connections: 3 })
})

test('sources that may not come are counted apart from those that pass', async () => {
  const { kernel, traffic, catalog, sync } = await counting('10.64.0.1')
  const status = { loadBalancer: { ingress: [{ ip: '203.0.113.1' }] } }
  const spec = { ports: [{ port: 80 }], type: 'LoadBalancer', loadBalancerSourceRanges: ['198.51.100.0/24'] }
  catalog.upsert(service('demo/web', { clusterIP: '10.96.0.1', ...spec }, status))
  await sync()
  const firewall = /:(KUBE-FW-\S+)/.exec(await kernel.save('nat', never))?.[1] ?? ''
  kernel.count('nat', 'KUBE-SERVICES', (rule) => rule.includes(firewall), 5)
  kernel.count('nat', firewall, (rule) => rule.includes('198.51.100.0/24'), 2)
  kernel.count('filter', 'KUBE-PROXY-FIREWALL', (rule) => rule.includes('demo/web'), 3)
  expect(await traffic()).toMatchObject({ connections: 2, turnedAway: { 'source-not-allowed': 3 } })
})

test('a Service that is gone begins at zero when it comes back', async () => {
  const { enter, traffic, catalog, sync } = await counting('10.64.0.1')
  enter('KUBE-SERVICES', 3)
  catalog.replace('Service', [])
  await sync()
  expect(await traffic()).toBeUndefined()
  catalog.upsert(web())
  await sync()
  expect(await traffic()).toMatchObject({ connections: 0 })
})

test('above the limit nothing is read', async () => {
  const site = setUp({ countsConnections: () => false })
  site.catalog.upsert(web())
  site.catalog.upsert(pods('10.64.0.1'))
  await site.sync(true)
  site.catalog.upsert(pods())
  await site.sync()
  expect((await site.backend.traffic(never)).size).toBe(0)
  expect(site.kernel.counterReadings).toEqual([])
})

test('counters that cannot be read keep no change from being written', async () => {
  const { traffic, catalog, sync, kernel, fromScratch, log } = await counting('10.64.0.1')
  kernel.areCountersUnreadable = true
  for (const [full, ips] of [
    [false, []],
    [true, ['10.64.0.2']],
  ] as const) {
    catalog.upsert(pods(...ips))
    await sync(full)
    expect(await kernel.saveAll(never)).toBe(await fromScratch())
  }
  expect(log.at('warn').map(({ message }) => message)).toEqual(Array(2).fill(expect.stringContaining('counters')))
  kernel.areCountersUnreadable = false
  expect(await traffic()).toMatchObject({ connections: 0 })
})
