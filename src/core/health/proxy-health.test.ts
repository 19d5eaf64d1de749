import { expect, test } from 'vitest'
import { ProxyHealth } from './proxy-health.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { testNode } from '../testing/nodes.ts'

const start = Date.UTC(2026, 0, 1, 12, 0, 0)

function given() {
  const clock = new FakeClock(start)
  const health = new ProxyHealth({ clock, timeoutMs: () => 10_000 })
  health.setNode(testNode())
  return { clock, health }
}

test('a proxy that has not synced yet is healthy and reports no family', () => {
  const { health } = given()
  expect(health.healthz()).toEqual({
    status: 200,
    body: {
      lastUpdated: '2026-01-01T12:00:00Z',
      currentTime: '2026-01-01T12:00:00Z',
      nodeEligible: true,
      healthy: true,
    },
  })
})

test('the body has the keys in the order of kube-proxy, and real times per family', async () => {
  const { clock, health } = given()
  health.updated('ipv6')
  await clock.advance(1500)
  health.updated('ipv4')
  await clock.advance(20)
  expect(JSON.stringify(health.healthz().body)).toBe(
    '{"lastUpdated":"2026-01-01T12:00:01.52Z","currentTime":"2026-01-01T12:00:01.52Z","nodeEligible":true,"healthy":true,' +
      '"status":{"IPv4":{"lastUpdated":"2026-01-01T12:00:01.5Z","healthy":true},' +
      '"IPv6":{"lastUpdated":"2026-01-01T12:00:00Z","healthy":true}}}',
  )
  expect(JSON.stringify(health.livez().body)).toBe(
    '{"lastUpdated":"2026-01-01T12:00:01.52Z","currentTime":"2026-01-01T12:00:01.52Z","healthy":true,' +
      '"status":{"IPv4":{"lastUpdated":"2026-01-01T12:00:01.5Z","healthy":true},' +
      '"IPv6":{"lastUpdated":"2026-01-01T12:00:00Z","healthy":true}}}',
  )
})

test('a fraction of a second is printed without trailing zeros, whole tens of seconds keep theirs', async () => {
  const { clock, health } = given()
  const printedAfter = async (ms: number) => {
    await clock.advance(ms)
    return health.livez().body.currentTime
  }
  expect(await printedAfter(10_000)).toBe('2026-01-01T12:00:10Z')
  expect(await printedAfter(7)).toBe('2026-01-01T12:00:10.007Z')
  expect(await printedAfter(93)).toBe('2026-01-01T12:00:10.1Z')
})

test('an idle proxy stays healthy, and its last update is now', async () => {
  const { clock, health } = given()
  health.updated('ipv4')
  health.updated('ipv6')
  await clock.advance(25_000)
  expect(health.healthz()).toMatchObject({
    status: 200,
    body: { lastUpdated: '2026-01-01T12:00:25Z', status: { IPv4: { lastUpdated: '2026-01-01T12:00:00Z' } } },
  })
})

test('a family whose request waits too long is unhealthy, and the last update is the newest real one', async () => {
  const { clock, health } = given()
  health.updated('ipv4')
  await clock.advance(1000)
  health.updated('ipv6')
  health.queuedUpdate('ipv4')
  await clock.advance(25_000)
  expect(health.healthz()).toMatchObject({
    status: 503,
    body: {
      lastUpdated: '2026-01-01T12:00:01Z',
      currentTime: '2026-01-01T12:00:26Z',
      nodeEligible: true,
      healthy: false,
      status: { IPv4: { healthy: false }, IPv6: { healthy: true } },
    },
  })
  expect(health.livez().status).toBe(503)
})

test('the proxy is healthy again only when every late family has caught up', async () => {
  const { clock, health } = given()
  for (const family of ['ipv4', 'ipv6'] as const) {
    health.updated(family)
    health.queuedUpdate(family)
  }
  await clock.advance(25_000)
  health.updated('ipv4')
  expect(health.healthz().status).toBe(503)
  health.updated('ipv6')
  expect(health.healthz().status).toBe(200)
})

test('the deadline counts from the first of several requests', async () => {
  const { clock, health } = given()
  health.updated('ipv4')
  health.queuedUpdate('ipv4')
  await clock.advance(6000)
  health.queuedUpdate('ipv4')
  await clock.advance(4000)
  expect(health.isHealthy).toBe(false)
})

test('a request is late when exactly the timeout has passed, not a millisecond before', async () => {
  const { clock, health } = given()
  health.updated('ipv4')
  health.queuedUpdate('ipv4')
  await clock.advance(9999)
  expect(health.isHealthy).toBe(true)
  await clock.advance(1)
  expect(health.isHealthy).toBe(false)
})

test('a wall clock that jumps makes nobody unhealthy', async () => {
  const { clock, health } = given()
  health.updated('ipv4')
  health.queuedUpdate('ipv4')
  clock.jumpWallClock(3_600_000)
  await clock.advance(9999)
  expect(health.isHealthy).toBe(true)
})

test('a family whose loop never started cannot be unhealthy', async () => {
  const { clock, health } = given()
  health.queuedUpdate('ipv6')
  await clock.advance(25_000)
  expect(health.healthz().status).toBe(200)
})

test('a node the autoscaler is about to delete gets no new traffic, but the proxy is alive', () => {
  const { health } = given()
  health.updated('ipv4')
  health.setNode(testNode({ taintKeys: ['other', 'ToBeDeletedByClusterAutoscaler'] }))
  expect(health.healthz()).toMatchObject({ status: 503, body: { nodeEligible: false, healthy: true } })
  expect(health.livez().status).toBe(200)
  expect(health.livez().body).not.toHaveProperty('nodeEligible')
  health.setNode(testNode())
  expect(health.healthz().status).toBe(200)
})

test('other taints do not matter; a Node that is being deleted does', () => {
  const { health } = given()
  health.setNode(testNode({ taintKeys: ['node.kubernetes.io/unschedulable'] }))
  expect(health.healthz().status).toBe(200)
  health.setNode(testNode({ isBeingDeleted: true }))
  expect(health.healthz().status).toBe(503)
})

test('a node nobody knows is not eligible, and the time of an update that never was is zero', () => {
  const health = new ProxyHealth({ clock: new FakeClock(start), timeoutMs: () => 10_000 })
  expect(health.healthz()).toMatchObject({
    status: 503,
    body: { lastUpdated: '0001-01-01T00:00:00Z', nodeEligible: false, healthy: true },
  })
  expect(health.livez().status).toBe(200)
})
