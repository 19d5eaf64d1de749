import { networkInterfaces } from 'node:os'
import { assert, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import type { NodeRecord } from '../../api/records.ts'
import { silentLogger } from '../../core/logger.ts'
import { ProxyHealth } from '../../core/health/proxy-health.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { healthzHandler } from './healthz-server.ts'
import { listenHttp } from './http-server.ts'
import type { HttpListener } from './http-server.ts'
import { rawRequest } from './testing/raw-request.ts'

const node: NodeRecord = {
  kind: 'Node',
  name: 'n1',
  ips: ['10.0.0.1'],
  podCIDRs: [],
  zone: '',
  isBeingDeleted: false,
  taintKeys: [],
}

const options = { what: 'test', bind: { ip: '127.0.0.1', port: 0 }, log: silentLogger }
let clock: FakeClock
let health: ProxyHealth
let listener: HttpListener
const healthAnswered = vi.fn<(endpoint: string, status: number) => void>()

const readiness = {
  readyz: ({ isVerbose }: { isVerbose: boolean }) => ({ status: 503, body: isVerbose ? 'long' : 'short' }) as const,
}

beforeEach(async () => {
  healthAnswered.mockClear()
  clock = new FakeClock(Date.UTC(2026, 10, 15, 9))
  health = new ProxyHealth({ clock, timeoutMs: () => 60_000 })
  const detail = () => ({ sources: { Service: 'connected' } })
  const handler = healthzHandler({ health, readiness, detail, metrics: { healthAnswered } })
  listener = await listenHttp({ ...options, handler })
  onTestFinished(() => listener[Symbol.asyncDispose]())
})

test('a healthy proxy on an eligible node answers 200 with the body of kube-proxy', async () => {
  health.setNode(node)
  health.updated('ipv4')
  health.updated('ipv6')
  await clock.advance(1500)
  expect(await rawRequest(listener.address, '/healthz')).toEqual({
    status: 200,
    headers: { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' },
    body: '{"lastUpdated":"2026-11-15T09:00:01.5Z","currentTime":"2026-11-15T09:00:01.5Z","nodeEligible":true,"healthy":true,"status":{"IPv4":{"lastUpdated":"2026-11-15T09:00:00Z","healthy":true},"IPv6":{"lastUpdated":"2026-11-15T09:00:00Z","healthy":true}}}',
  })
})

test('a node about to be deleted fails /healthz only', async () => {
  health.setNode({ ...node, taintKeys: ['ToBeDeletedByClusterAutoscaler'] })
  expect(await rawRequest(listener.address, '/healthz')).toMatchObject({
    status: 503,
    body: '{"lastUpdated":"0001-01-01T00:00:00Z","currentTime":"2026-11-15T09:00:00Z","nodeEligible":false,"healthy":true}',
  })
  expect(await rawRequest(listener.address, '/livez')).toEqual({
    status: 200,
    headers: { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' },
    body: '{"lastUpdated":"2026-11-15T09:00:00Z","currentTime":"2026-11-15T09:00:00Z","healthy":true}',
  })
})

test('each answer is counted by its status', async () => {
  await rawRequest(listener.address, '/healthz') // the node is unknown
  await rawRequest(listener.address, '/livez')
  await rawRequest(listener.address, '/other')
  expect(healthAnswered.mock.calls).toEqual([
    ['healthz', 503],
    ['livez', 200],
  ])
})

test('?verbose adds one key to /healthz and changes nothing else', async () => {
  health.setNode(node)
  const brief = await rawRequest(listener.address, '/healthz')
  const verbose = await rawRequest(listener.address, '/healthz?verbose')
  expect(verbose.body).toBe(brief.body.replace(/\}$/, ',"detail":{"sources":{"Service":"connected"}}}'))
  expect({ ...verbose, body: '' }).toEqual({ ...brief, body: '' })
  expect(await rawRequest(listener.address, '/livez?verbose')).toEqual(await rawRequest(listener.address, '/livez'))
})

test('what ?verbose adds is for clients on this machine only', async () => {
  const own = Object.values(networkInterfaces())
    .flat()
    .find((entry) => entry?.family === 'IPv4' && !entry.internal)?.address
  assert(own !== undefined, 'this test needs an address beside loopback')
  const handler = healthzHandler({ health, readiness, detail: () => ({ secret: 1 }), metrics: { healthAnswered } })
  await using everywhere = await listenHttp({ ...options, bind: { ip: '0.0.0.0', port: 0 }, handler })
  const detailFrom = async (host: string, headers = {}) => {
    const { body } = await rawRequest(everywhere.address, '/healthz?verbose', { host, headers })
    return (JSON.parse(body) as { detail?: unknown }).detail
  }
  expect(await detailFrom('127.0.0.1')).toEqual({ secret: 1 })
  expect(await detailFrom('127.0.0.1', { host: 'localhost:10256' })).toEqual({ secret: 1 })
  expect(await detailFrom(own)).toBeUndefined()
  // A web page whose name resolves to this address.
  expect(await detailFrom('127.0.0.1', { host: 'page.example:10256' })).toBeUndefined()
})

for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
  test(`${method} is answered like any other method`, async () => {
    health.setNode(node)
    expect(await rawRequest(listener.address, '/healthz', { method, body: 'x' })).toMatchObject({ status: 200 })
  })
}

for (const path of ['/', '/healthz/', '/healthz/ping', '//healthz', '/readyz/', '/metrics', '/Healthz']) {
  test(`${path} is not found`, async () => {
    expect(await rawRequest(listener.address, path)).toEqual({
      status: 404,
      headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
      body: '404 page not found\n',
    })
  })
}

test('/readyz is plain text, and longer with ?verbose', async () => {
  expect(await rawRequest(listener.address, '/readyz')).toMatchObject({ status: 503, body: 'short' })
  expect(await rawRequest(listener.address, '/readyz?verbose')).toMatchObject({ status: 503, body: 'long' })
})
