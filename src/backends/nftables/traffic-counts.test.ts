import { expect, test } from 'vitest'
import type { Route, RouteKey } from '../../core/route.ts'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import { NftError } from '../../dataplane/nft/nft.ts'
import type { NftErrorReason } from '../../dataplane/nft/nft.ts'
import { ProxiedNode } from './testing/proxied-node.ts'

const never = new AbortController().signal
const endpoints = [testEndpoint('10.77.1.5', 8080), testEndpoint('10.77.2.6', 8080)]
const web = (overrides: Parameters<typeof testRoute>[1] = {}): Route =>
  testRoute('shop/web', {
    clusterIP: '10.112.0.21',
    nodePort: 30_080,
    endpoints,
    ...overrides,
  })
const db = testRoute('shop/db', { clusterIP: '10.112.0.22', endpoints })

async function counting(): Promise<ProxiedNode> {
  const node = new ProxiedNode({ countsConnections: () => true })
  await node.sync([web(), db], { full: true })
  return node
}

type Counting = Parameters<ProxiedNode['table']['declarationOf']>[0]

function connect({ table }: ProxiedNode, set: Counting, key: string, packets: number): void {
  table.count(table.declarationOf(set), key, packets)
}

async function connections({ backend }: ProxiedNode): Promise<ReadonlyMap<RouteKey, number | undefined>> {
  return new Map([...(await backend.traffic(never))].map(([key, traffic]) => [key, traffic.connections]))
}

test('connections by all addresses and ports of a Service port are counted together', async () => {
  const node = await counting()
  connect(node, 'services', '10.112.0.21 . tcp . 80', 3)
  connect(node, 'nodeports', 'tcp . 30080', 4)
  expect(await connections(node)).toEqual(
    new Map([
      [web().key, 7],
      [db.key, 0],
    ]),
  )
})

test('a change of endpoints does not lose what was counted', async () => {
  const node = await counting()
  connect(node, 'services', '10.112.0.21 . tcp . 80', 3)
  await node.sync([web({ endpoints: endpoints.slice(1) }), db])
  connect(node, 'services', '10.112.0.21 . tcp . 80', 2)
  await node.sync([web(), db])
  connect(node, 'services', '10.112.0.21 . tcp . 80', 1)
  expect((await connections(node)).get(web().key)).toBe(6)
})

test('an address that goes does not take its count along: a counter never goes back', async () => {
  const node = await counting()
  connect(node, 'services', '10.112.0.21 . tcp . 80', 3)
  connect(node, 'nodeports', 'tcp . 30080', 4)
  await node.sync([web({ nodePort: undefined }), db])
  expect((await connections(node)).get(web().key)).toBe(7)
})

test('whoever takes over an address begins to count there', async () => {
  const node = await counting()
  const other = testRoute('shop/z', {
    clusterIP: '10.112.0.23',
    nodePort: 30_080,
    endpoints,
  })
  await node.sync([web(), db, other])
  connect(node, 'nodeports', 'tcp . 30080', 4)
  await node.sync([web({ nodePort: undefined }), db, other])
  connect(node, 'nodeports', 'tcp . 30080', 1)
  const counts = await connections(node)
  expect([counts.get(web().key), counts.get(other.key)]).toEqual([4, 1])
})

test('a Service that is gone is counted no more', async () => {
  const node = await counting()
  connect(node, 'services', '10.112.0.21 . tcp . 80', 3)
  await node.sync([db])
  expect([...(await connections(node)).keys()]).toEqual([db.key])
  await node.sync([web(), db])
  expect((await connections(node)).get(web().key)).toBe(0)
})

/** The next transaction that deletes elements ends so. */
function spoilNextDeletion({ table }: ProxiedNode, reason: NftErrorReason): void {
  table.refuses = (transaction) => {
    if (transaction.every((operation) => operation.do !== 'delete elements')) return undefined
    table.refuses = () => undefined
    return new NftError(reason, 'not now')
  }
}

test('a change that fails counts nothing twice, and the next one loses nothing', async () => {
  const node = await counting()
  connect(node, 'services', '10.112.0.21 . tcp . 80', 3)
  connect(node, 'nodeports', 'tcp . 30080', 4)
  const fewer = web({ endpoints: endpoints.slice(1) })
  spoilNextDeletion(node, 'failed')
  await expect(node.sync([fewer, db])).rejects.toThrow('not now')
  expect((await connections(node)).get(web().key)).toBe(7)
  await node.sync([fewer, db])
  expect((await connections(node)).get(web().key)).toBe(7)
})

test('a change that is refused, and becomes a full sync, counts nothing twice and loses nothing', async () => {
  const node = await counting()
  connect(node, 'services', '10.112.0.21 . tcp . 80', 3)
  spoilNextDeletion(node, 'refused')
  await node.sync([web({ endpoints: endpoints.slice(1) }), db])
  expect(node.log.at('warn')).toHaveLength(1)
  expect((await connections(node)).get(web().key)).toBe(3)
})

test('a table that is replaced as a whole does not take the counts along', async () => {
  const node = await counting()
  connect(node, 'services', '10.112.0.21 . tcp . 80', 3)
  node.table.refuses = (transaction) =>
    transaction.every((operation) => operation.do !== 'delete table') ? new NftError('refused', 'not so') : undefined
  await node.sync([web({ endpoints: endpoints.slice(1) }), db])
  expect(node.table.takeOperations().some((operation) => operation.do === 'delete table')).toBe(true)
  expect((await connections(node)).get(web().key)).toBe(3)
})

test('nobody reads counters before a change when nobody wants them', async () => {
  const node = new ProxiedNode({ countsConnections: () => false })
  await node.sync([web(), db], { full: true })
  const { reads } = node.table
  await node.sync([web({ endpoints: endpoints.slice(1) }), db])
  expect(node.table.reads).toBe(reads)
})

const pick = '10.112.0.21 . tcp . 80'
const countsOf = async ({ backend }: ProxiedNode) => {
  const { endpoints: byAddress } = (await backend.traffic(never)).get(web().key) ?? {}
  return byAddress && Object.fromEntries([...byAddress].map(([address, traffic]) => [address, traffic.connections]))
}

test('each endpoint has its own count, whichever address of the Service was used', async () => {
  const node = await counting()
  connect(node, 'endpoints', `${pick} . 0`, 3)
  connect(node, 'endpoints', `${pick} . 1`, 2)
  connect(node, 'nodeport-endpoints', 'tcp . 30080 . 1', 5)
  expect(await countsOf(node)).toEqual({ '10.77.1.5:8080': 3, '10.77.2.6:8080': 7 })
})

test('an endpoint that gets another number, because another one left, keeps its count; the one that left is forgotten', async () => {
  const node = await counting()
  connect(node, 'endpoints', `${pick} . 0`, 3)
  connect(node, 'endpoints', `${pick} . 1`, 2)
  await node.sync([web({ endpoints: endpoints.slice(1) }), db])
  connect(node, 'endpoints', `${pick} . 0`, 4)
  expect(await countsOf(node)).toEqual({ '10.77.2.6:8080': 6 })
  await node.sync([web(), db])
  expect(await countsOf(node)).toEqual({ '10.77.1.5:8080': 0, '10.77.2.6:8080': 6 })
})

test('who asks for a Service without endpoints is counted, also after it got some', async () => {
  const node = await counting()
  const turnedAway = async () => (await node.backend.traffic(never)).get(web().key)?.turnedAway
  connect(node, 'services', pick, 3)
  expect(await turnedAway()).toEqual({ 'no-endpoint': 0 })
  await node.sync([web({ endpoints: [] }), db])
  connect(node, 'no-endpoints', pick, 2)
  connect(node, 'no-endpoint-nodeports', 'tcp . 30080', 1)
  expect(await turnedAway()).toEqual({ 'no-endpoint': 3 })
  expect((await connections(node)).get(web().key)).toBe(3)
  await node.sync([web(), db])
  expect(await turnedAway()).toEqual({ 'no-endpoint': 3 })
})

test('a full sync that finds everything right loses nothing', async () => {
  const node = await counting()
  connect(node, 'services', pick, 3)
  connect(node, 'endpoints', `${pick} . 0`, 3)
  await node.sync([web(), db], { full: true })
  expect((await connections(node)).get(web().key)).toBe(3)
  expect(await countsOf(node)).toMatchObject({ '10.77.1.5:8080': 3 })
})

test('a table for many endpoints has no counters for them, and stays so after a restart', async () => {
  const node = new ProxiedNode({ countsConnections: (things) => things <= 5 })
  await node.sync([web(), db], { full: true })
  expect(await countsOf(node)).toBeUndefined()
  expect((await connections(node)).get(web().key)).toBe(0)
  const restarted = new ProxiedNode({ table: node.table, countsConnections: () => true })
  node.table.takeOperations()
  await restarted.sync([web(), db], { full: true })
  expect(node.table.takeOperations().some((operation) => operation.do === 'delete table')).toBe(false)
  expect(await countsOf(restarted)).toBeUndefined()
})

test('counters that cannot be read keep no change from being written', async () => {
  const node = await counting()
  const fewer = web({ endpoints: endpoints.slice(1) })
  const fresh = new ProxiedNode({ countsConnections: () => true })
  await fresh.sync([fewer, db], { full: true })
  node.table.areElementsUnreadable = true
  await node.sync([fewer, db])
  node.table.areElementsUnreadable = false
  expect(await node.table.contents()).toEqual(await fresh.table.contents())
  expect(node.log.at('warn').map(({ message }) => message)).toEqual([expect.stringContaining('counters')])
})
