import { describe, expect, test } from 'vitest'
import type { Route } from '../../core/route.ts'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import { endingsOf } from './testing/evaluate-packet.ts'
import { fateOf } from './testing/fate.ts'
import { ProxiedNode } from './testing/proxied-node.ts'
import { addressPlans } from '../../core/testing/random-cluster.ts'
import type { RecordingTable } from './testing/recording-table.ts'

const { node: localIps } = addressPlans.ipv4

/** `count` endpoints, every other one on this node. */
function service(count: number, overrides: Parameters<typeof testRoute>[1] = {}): Route {
  const endpoints = Array.from({ length: count }, (_, index) =>
    testEndpoint(`10.77.${index % 2 === 0 ? 1 : 2}.${index}`, 8080, { isLocal: index % 2 === 0 }),
  )
  return testRoute('shop/web', {
    clusterIP: '10.112.0.21',
    externalIPs: ['192.0.2.60'],
    nodePort: 30_080,
    endpoints,
    ...overrides,
  })
}

async function chances(table: RecordingTable, destination: string, port = 80, source = '198.18.5.9') {
  const packet = { enters: 'prerouting', inInterface: 'eth0', protocol: 'tcp', source, destination, port } as const
  return Object.values(fateOf(endingsOf(await table.ruleset(), { family: 'ipv4', localIps }, packet)))
}

async function programmed(route: Route): Promise<RecordingTable> {
  const node = new ProxiedNode()
  await node.sync([route], { full: true })
  return node.table
}

const counts = [1, 2, 3, 7, 50]
const kinds = [
  { kind: 'at random', affinitySeconds: undefined },
  { kind: 'with affinity', affinitySeconds: 60 },
]

describe.each(kinds)('$kind', ({ affinitySeconds }) => {
  test.each(counts)('each of %i endpoints is picked as often as any other', async (count) => {
    const table = await programmed(service(count, { affinitySeconds }))
    const even = Array.from({ length: count }, () => `1/${count}`)
    expect(await chances(table, '10.112.0.21')).toEqual(even)
    expect(await chances(table, '192.0.2.60')).toEqual(even)
    expect(await chances(table, localIps[0], 30_080)).toEqual(even)
  })

  test.each(counts)('policy Local picks evenly here, and pods use all of the %i', async (count) => {
    const table = await programmed(service(count, { affinitySeconds, externalPolicy: 'Local' }))
    const here = Math.ceil(count / 2)
    for (const [ip, port] of [
      ['192.0.2.60', 80],
      [localIps[0], 30_080],
    ] as const) {
      expect(await chances(table, ip, port)).toEqual(Array.from({ length: here }, () => `1/${here}`))
      expect(await chances(table, ip, port, '10.77.9.9')).toEqual(Array.from({ length: count }, () => `1/${count}`))
    }
  })
})

test('a packet that was told to pick one of more endpoints than there are now goes to the first', async () => {
  const table = await programmed(service(3))
  const endpoints = table.declarationOf('endpoints')
  await table.damage([{ do: 'delete elements', set: endpoints, keys: ['10.112.0.21 . tcp . 80 . 2'] }])
  expect(await chances(table, '10.112.0.21')).toEqual(['2/3', '1/3'])
})

test('Services with as many endpoints share a chain', async () => {
  const node = new ProxiedNode()
  const routes = Array.from({ length: 30 }, (_, index) => ({
    ...service(3),
    ...testRoute(`shop/s${index}`, { clusterIP: `10.112.1.${index}`, endpoints: service(1 + (index % 3)).endpoints }),
  }))
  await node.sync(routes, { full: true })
  const { chains = [] } = (await node.table.list(new AbortController().signal)) ?? {}
  expect(chains.filter((name) => name.startsWith('pick-')).toSorted()).toEqual(['pick-1', 'pick-2', 'pick-3'])
})
