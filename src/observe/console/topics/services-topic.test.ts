import { expect, test } from 'vitest'
import type { ObjectRecord } from '../../../api/records.ts'
import { objectKey } from '../../../api/records.ts'
import { service, slice } from '../../../core/testing/objects.ts'
import { routeKey } from '../../../core/route.ts'
import { RecordingViewer, ShownNode } from './testing/shown-node.ts'
import { ShownRows } from './testing/shown-rows.ts'

const web = service('shop/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }] })
const webSlice = (...ips: string[]) => slice('shop/web-1', 'web', ips, [8080])

/** Who has seen the whole list. */
async function following(objects: readonly ObjectRecord[]) {
  const node = new ShownNode(objects)
  const viewer = new RecordingViewer()
  const follow = node.follow('services', viewer)
  const rows = new ShownRows(viewer)
  await node.clock.advance(0)
  return { node, viewer, follow, rows }
}

test('the list comes first, then what changes, and what is gone', async () => {
  const { node, viewer, rows } = await following([web, webSlice('10.64.0.1')])
  expect(viewer.of('services')).toEqual([
    {
      isFirst: true,
      rows: [
        {
          key: 'shop/web',
          type: 'ClusterIP',
          clusterIPs: ['10.96.0.1'],
          ports: [{ port: 80, protocol: 'TCP' }],
          endpoints: { total: 1, ready: 1, used: 1 },
        },
      ],
    },
  ])
  node.catalog.upsert(webSlice('10.64.0.1', '10.64.0.2'))
  await node.clock.advance(250)
  expect(rows.of('shop/web')?.endpoints).toEqual({ total: 2, ready: 2, used: 1 })
  node.sync()
  await node.clock.advance(250)
  expect(rows.of('shop/web')?.endpoints).toEqual({ total: 2, ready: 2, used: 2 })
  node.catalog.remove('Service', objectKey(web))
  await node.clock.advance(250)
  expect(viewer.of('services').at(-1)).toEqual({ rows: [], gone: ['shop/web'] })
})

test('changes between two beats are one message', async () => {
  const { node, viewer } = await following([web])
  for (let count = 1; count <= 100; count++) node.catalog.upsert(webSlice(`10.64.0.${count}`))
  await node.clock.advance(1_000)
  expect(viewer.of('services')).toHaveLength(2)
})

test('nobody looks: no timer, no listener; and the same after they have gone', async () => {
  const node = new ShownNode([web])
  const isAtRest = () => node.clock.sleeping === 0 && node.catalog.listeners === node.ownListeners
  expect(isAtRest()).toBe(true)
  const follows = node.topics.flatMap(({ name }) =>
    [1, 2].map(() => node.follow(name, new RecordingViewer(), 'shop', 'web')),
  )
  await node.clock.advance(5_000)
  expect(isAtRest()).toBe(false)
  for (const follow of follows) follow[Symbol.dispose]()
  await node.clock.advance(0)
  expect(isAtRest()).toBe(true)
})

test('a long list comes in parts, each in a turn of its own', async () => {
  const many = Array.from({ length: 1_001 }, (_, index) =>
    service(`shop/s${index}`, { clusterIP: `10.96.${index >> 8}.${index & 255}`, ports: [{ port: 80 }] }),
  )
  const { node, viewer, rows } = await following(many)
  expect(viewer.of('services').length).toBeLessThan(3)
  for (let turn = 0; turn < 10; turn++) await node.clock.advance(0)
  const parts = viewer.of('services')
  expect(parts.map(({ isFirst }) => isFirst)).toEqual([true, ...parts.slice(1).map(() => undefined)])
  expect(parts.map(({ hasMore }) => hasMore)).toEqual([...parts.slice(1).map(() => true), undefined])
  expect(rows.size).toBe(1_001)
})

test('who reads slowly gets nothing until ready, then only what they missed', async () => {
  const { node, viewer, rows } = await following([web])
  viewer.isBehind = true
  node.catalog.upsert(webSlice('10.64.0.1'))
  await node.clock.advance(2_000)
  expect(viewer.of('services')).toHaveLength(1)
  viewer.isBehind = false
  await node.clock.advance(250)
  expect(viewer.of('services')).toHaveLength(2)
  expect(viewer.of('services')[1]).not.toHaveProperty('isFirst')
  expect(rows.of('shop/web')?.endpoints.total).toBe(1)
})

test('who has missed very much gets the list again', async () => {
  const { node, viewer, rows } = await following([])
  viewer.isBehind = true
  for (let index = 0; index < 5_001; index++)
    node.catalog.upsert(service(`shop/s${index}`, { clusterIP: 'None', ports: [] }))
  await node.clock.advance(250)
  viewer.isBehind = false
  await node.clock.advance(250)
  for (let turn = 0; turn < 30; turn++) await node.clock.advance(0)
  expect(viewer.of('services')[1]).toHaveProperty('isFirst', true)
  expect(rows.size).toBe(5_001)
})

test('a route that the data plane refuses is a problem of its Service, until it is taken', async () => {
  const { node, rows } = await following([web, webSlice('10.64.0.1')])
  node.states.ipv4.failed = new Map([[routeKey('shop', 'web', '', 'TCP'), 'no memory']])
  await node.clock.advance(250)
  expect(rows.of('shop/web')?.problem).toBe('not all of it is programmed: no memory')
  node.states.ipv4.failed = new Map()
  await node.clock.advance(250)
  expect(rows.of('shop/web')).not.toHaveProperty('problem')
})

test('numbers are sent without their rows, and only those that have changed', async () => {
  const db = service('shop/db', { clusterIP: '10.96.0.2', ports: [{ port: 80 }] })
  const { node, viewer, rows } = await following([web, db])
  const [webKey, dbKey] = [routeKey('shop', 'web', '', 'TCP'), routeKey('shop', 'db', '', 'TCP')]
  const { traffic } = node.states.ipv4
  traffic.set(webKey, { connections: 1 }).set(dbKey, { connections: 5 })
  await node.clock.advance(1_500)
  traffic.set(webKey, { connections: 3 })
  await node.clock.advance(5_000)
  const sent = viewer.of('services').slice(1)
  const lastUsed = expect.any(String) as string
  expect(sent.map((change) => change.rows)).toEqual(sent.map(() => []))
  expect(sent.map((change) => Object.keys(change.traffic ?? {}))).toEqual([
    ['shop/web', 'shop/db'],
    ['shop/web'],
    ['shop/web'],
  ])
  expect(rows.of('shop/web')?.traffic).toEqual({ connections: 3, lastUsed })
  expect(rows.of('shop/db')?.traffic).toEqual({ connections: 5, lastUsed })
  node.catalog.upsert(webSlice('10.64.0.1'))
  await node.clock.advance(250)
  expect(rows.of('shop/web')?.traffic).toMatchObject({ connections: 3 })
  traffic.delete(dbKey)
  await node.clock.advance(1_500)
  expect(rows.of('shop/db')).not.toHaveProperty('traffic')
})

test('who reads slowly gets the numbers that they missed, too', async () => {
  const { node, viewer, rows } = await following([web])
  viewer.isBehind = true
  node.states.ipv4.traffic.set(routeKey('shop', 'web', '', 'TCP'), { connections: 7 })
  await node.clock.advance(5_000)
  viewer.isBehind = false
  await node.clock.advance(250)
  expect(rows.of('shop/web')?.traffic).toMatchObject({ connections: 7 })
})

test('numbers that change while the list is sent do not make it begin anew', async () => {
  const many = Array.from({ length: 6_000 }, (_, index) =>
    service(`shop/s${index}`, { clusterIP: `10.96.${index >> 8}.${index & 255}`, ports: [{ port: 80 }] }),
  )
  const { node, viewer, rows } = await following(many)
  for (let turn = 0; turn < 10; turn++) await node.clock.advance(0)
  viewer.isBehind = true
  for (const { name } of many) node.states.ipv4.traffic.set(routeKey('shop', name, '', 'TCP'), { connections: 1 })
  await node.clock.advance(10_000)
  viewer.isBehind = false
  await node.clock.advance(10_000)
  expect(viewer.of('services').filter(({ isFirst }) => isFirst)).toHaveLength(1)
  expect([...rows.byKey.values()].filter(({ traffic }) => traffic?.connections === 1)).toHaveLength(6_000)
})
