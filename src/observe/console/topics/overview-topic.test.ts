import { expect, test } from 'vitest'
import { routeKey } from '../../../core/route.ts'
import { service, slice } from '../../../core/testing/objects.ts'
import { RecordingViewer, ShownNode } from './testing/shown-node.ts'

const web = service('shop/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }] })
const empty = service('shop/empty', { clusterIP: '10.96.0.2', ports: [{ port: 80 }] })
const webSlice = slice('shop/web-1', 'web', ['10.64.0.1', '10.64.0.2'], [8080])

async function following(node: ShownNode) {
  const viewer = new RecordingViewer()
  node.follow('overview', viewer)
  await node.clock.advance(0)
  return viewer
}

test('it tells how many there are, at once and after each change', async () => {
  const node = new ShownNode([web, empty, webSlice])
  const viewer = await following(node)
  expect(viewer.of('overview')).toEqual([
    {
      at: new Date(node.clock.now()).toISOString(),
      source: { from: 'the API server at https://127.0.0.1:6443', state: 'live' },
      isHealthy: true,
      isReady: true,
      counts: { services: 2, endpoints: 2, servicesWithoutEndpoints: 1, routes: 2 },
      events: 3,
      syncs: [
        { family: 'ipv4', count: 0, failures: 0, pending: 0 },
        { family: 'ipv6', count: 0, failures: 0, pending: 0 },
      ],
      problems: [],
    },
  ])
  node.catalog.upsert(slice('shop/empty-1', 'empty', ['10.64.0.3'], [8080]))
  await node.clock.advance(500)
  expect(viewer.of('overview').at(-1)).toMatchObject({
    counts: { services: 2, endpoints: 3, servicesWithoutEndpoints: 0 },
    events: 4,
    syncs: [{ pending: 1 }, { pending: 0 }],
  })
})

test('without a change it is told every two seconds, so that rates can fall to zero', async () => {
  const node = new ShownNode([web])
  const viewer = await following(node)
  await node.clock.advance(10_000)
  expect(viewer.of('overview')).toHaveLength(6)
})

test('who reads slowly gets the newest one only', async () => {
  const node = new ShownNode([web])
  const viewer = await following(node)
  viewer.isBehind = true
  for (let count = 0; count < 10; count++) {
    node.catalog.upsert(slice('shop/web-1', 'web', [`10.64.0.${count}`], [8080]))
    await node.clock.advance(500)
  }
  viewer.isBehind = false
  await node.clock.advance(250)
  expect(viewer.of('overview').map(({ events }) => events)).toEqual([1, 11])
})

test('problems are told, the worst first', async () => {
  const taken = service('shop/taken', {
    clusterIP: '10.96.0.3',
    externalIPs: ['10.96.0.1'],
    ports: [{ port: 80 }],
  })
  const node = new ShownNode([web, webSlice, taken])
  const atMs = node.clock.now()
  const at = new Date(atMs).toISOString()
  node.drift.noteFound('ipv4', 'a chain is gone')
  node.source = { ...node.source, state: 'lost', since: at, why: 'connection refused' }
  node.states.ipv4.failed = new Map([[routeKey('shop', 'web', '', 'TCP'), 'no memory']])
  const failure = { atMs, message: 'nft failed' }
  node.states.ipv4.tally = { count: 3, failures: 2, last: undefined, lastFailure: failure, isFailing: true }
  node.states.ipv6.tally = { count: 3, failures: 2, last: undefined, lastFailure: failure, isFailing: false }
  node.problems = [{ severity: 'warning', text: 'the configuration is refused' }]
  const [overview] = (await following(node)).of('overview')
  expect(overview?.problems).toEqual([
    {
      severity: 'error',
      text: 'the API server at https://127.0.0.1:6443 cannot be reached (connection refused): what was known before is served',
      at,
    },
    { severity: 'error', text: 'the last IPv4 sync failed and is retried: nft failed', at },
    { severity: 'error', text: 'shop/web/TCP is not programmed: no memory', service: 'shop/web' },
    {
      severity: 'error',
      text: 'somebody else changed the IPv4 rules, and they are not repaired yet: a chain is gone',
      at,
    },
    { severity: 'warning', text: 'the configuration is refused' },
    {
      severity: 'warning',
      text: 'external IP 10.96.0.1:80/TCP is not served: it is a cluster IP of shop/web',
      service: 'shop/taken',
    },
    { severity: 'note', text: 'an IPv6 sync failed, and a later one succeeded: nft failed', at },
  ])
})

test('of many Services that need attention some are named, and the others counted', async () => {
  const taken = Array.from({ length: 60 }, (_, index) =>
    service(`shop/taken-${index}`, {
      clusterIP: `10.96.1.${index}`,
      externalIPs: ['10.96.0.1'],
      ports: [{ port: 80 }],
    }),
  )
  const [overview] = (await following(new ShownNode([web, ...taken]))).of('overview')
  expect(overview?.problems).toHaveLength(51)
  expect(overview?.problems.at(-1)?.text).toBe('10 more Services need attention')
})
