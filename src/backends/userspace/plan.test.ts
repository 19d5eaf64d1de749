import { expect, test } from 'vitest'
import { testEndpoint, testRoute, testView, withWishes } from '../../core/testing/routes.ts'
import type { Wishes } from '../../core/testing/routes.ts'
import type { Route } from '../../core/route.ts'
import { renderCidr } from '../../net/ip.ts'
import { planRoute, type ListenPolicy, type PlannedListener } from './plan.ts'

const here = testEndpoint('10.64.0.1', 8080, { isLocal: true })
const there = testEndpoint('10.64.1.1', 8080)
const serviceAddresses: ListenPolicy = { kind: 'service-addresses' }

test('a route listens on each of its addresses, the node port on the address of the node', () => {
  const route = testRoute('shop/web:http', {
    nodePort: 30080,
    externalIPs: ['198.51.100.9'],
    loadBalancerIPs: ['203.0.113.4'],
    endpoints: [here, there],
  })
  expect(addresses(listenersOf(route))).toEqual([
    'cluster-ip 10.96.0.10:80',
    'external-ip 198.51.100.9:80',
    'load-balancer-ip 203.0.113.4:80',
    'node-port 192.0.2.1:30080',
  ])
})

test('an address that a route has twice is listened on once', () => {
  const route = testRoute('shop/web', { externalIPs: ['10.96.0.10'], loadBalancerIPs: ['10.96.0.10'] })
  expect(addresses(listenersOf(route))).toEqual(['cluster-ip 10.96.0.10:80'])
})

test('the internal policy decides for the cluster IP, the external one for all others', () => {
  const route = testRoute('shop/web', {
    nodePort: 30080,
    externalIPs: ['198.51.100.9'],
    loadBalancerIPs: ['203.0.113.4'],
    endpoints: [here, there],
    externalPolicy: 'Local',
  })
  expect(listenersOf(route).map(({ purpose, pool }) => [purpose, pool.endpoints.map(({ ip }) => ip)])).toEqual([
    ['cluster-ip', ['10.64.0.1', '10.64.1.1']],
    ['external-ip', ['10.64.0.1']],
    ['load-balancer-ip', ['10.64.0.1']],
    ['node-port', ['10.64.0.1']],
  ])
  const [clusterIP] = listenersOf(withWishes(route, { internalPolicy: 'Local', externalPolicy: 'Cluster' }))
  expect(clusterIP?.pool.endpoints).toEqual([{ ip: '10.64.0.1', port: 8080 }])
})

test('beside another mode only node ports listen, on loopback, for clients of this node', () => {
  const localhost: ListenPolicy = { kind: 'localhost-node-ports' }
  const wishes = { nodePort: 30080, externalIPs: ['198.51.100.9'], affinitySeconds: 60, endpoints: [here, there] }
  const route = testRoute('shop/web', { ...wishes, externalPolicy: 'Local' })
  expect(addresses(listenersOf(route, localhost))).toEqual(['node-port 127.0.0.1:30080'])
  expect(listenersOf(route, localhost)[0]?.pool).toMatchObject({
    affinitySeconds: 60,
    endpoints: [{ ip: '10.64.0.1' }, { ip: '10.64.1.1' }],
  })
  expect(listenersOf(testRoute('shop/web', { endpoints: [here] }), localhost)).toEqual([])
  const sctp = planRoute(withWishes(route, { protocol: 'SCTP' }), testView().node, localhost)
  expect(sctp).toMatchObject({ listeners: [], problem: undefined })
})

test('what the Service wishes for its connections goes to every pool of it', () => {
  const wishes = {
    relaying: { proxyProtocol: 'v1' },
    traffic: { algorithm: 'random', maxConnectionAgeMs: 600_000 },
  } as const
  const route = testRoute('shop/web', { nodePort: 30_080, externalPolicy: 'Local', ...wishes })
  for (const { pool } of listenersOf(route))
    expect(pool).toMatchObject({ proxyProtocol: 'v1', balancing: 'random', maxConnectionAgeMs: 600_000 })
})

test('limits of the Service are shared by all pools of the port', () => {
  const traffic = {
    maxConnections: 5,
    maxConnectionsPerEndpoint: 2,
    maxDialsPerSecond: 10,
    maxDialsPerSecondPerEndpoint: 3,
  }
  const route = testRoute('shop/web', { nodePort: 30_080, externalPolicy: 'Local', traffic })
  const limits = {
    sharedAs: `ipv4/${route.key}`,
    connections: 5,
    connectionsPerEndpoint: 2,
    dialsPerSecond: 10,
    dialsPerSecondPerEndpoint: 3,
  }
  const pools = listenersOf(route).map(({ pool }) => pool)
  expect(new Set(pools.map(({ id }) => id)).size).toBe(2)
  for (const pool of pools) expect(pool.limits).toEqual(limits)
  expect(limits.sharedAs).not.toMatch(/[\s,]/)
})

test('weights go to the pools where they differ, and nothing does where they are equal', () => {
  const weights = (...given: number[]) => {
    const endpoints = given.map((weight, index) => ({ ...here, address: `10.64.0.${index + 1}:8080`, weight }))
    const [listener] = listenersOf(testRoute('shop/web', { endpoints }))
    return listener?.pool.endpoints.map(({ weight }) => weight)
  }
  expect(weights(1, 3, 6)).toEqual([1, 3, 6])
  expect(weights(5, 5)).toEqual([undefined, undefined])
  expect(weights(0, 0)).toEqual([undefined, undefined])
})

test('addresses under the same policy share their pool, and those under another do not', () => {
  const route = testRoute('shop/web', { nodePort: 30080, endpoints: [here] })
  const poolIds = (changed: Wishes) => new Set(listenersOf(withWishes(route, changed)).map(({ pool }) => pool.id)).size
  expect(poolIds({})).toBe(1)
  expect(poolIds({ externalPolicy: 'Local' })).toBe(2)
})

test('nobody can serve: refuse; others can but this node may not: close', () => {
  const nobody = testRoute('shop/web')
  const elsewhere = testRoute('shop/web', { endpoints: [there], internalPolicy: 'Local' })
  expect(listenersOf(nobody)[0]?.pool).toMatchObject({ endpoints: [], whenEmpty: 'refuse' })
  expect(listenersOf(elsewhere)[0]?.pool).toMatchObject({ endpoints: [], whenEmpty: 'close' })
})

test('source ranges guard the load-balancer addresses and nothing else', () => {
  const route = testRoute('shop/web', {
    nodePort: 30080,
    loadBalancerIPs: ['203.0.113.4'],
    sourceRanges: ['192.0.2.0/24'],
  })
  const guarded = (changed: Wishes) =>
    listenersOf(withWishes(route, changed)).map(({ purpose, allowedSources }) => [
      purpose,
      allowedSources.map(renderCidr).join(' '),
    ])
  expect(guarded({})).toEqual([
    ['cluster-ip', ''],
    ['load-balancer-ip', '192.0.2.0/24'],
    ['node-port', ''],
  ])
  expect(guarded({ sourceRangesCoverNode: true })[1]).toEqual(['load-balancer-ip', '192.0.2.0/24 203.0.113.4/32'])
})

test('an SCTP route is not served, and says why', () => {
  const plan = planRoute(testRoute('shop/web', { protocol: 'SCTP' }), testView().node, serviceAddresses)
  expect(plan.listeners).toEqual([])
  expect(plan.problem).toContain('SCTP')
})

test('on loopback a route prefers its own port, then its node port, then any', () => {
  const ports = (changed: Wishes) => listenersOf(testRoute('shop/web', changed), { kind: 'loopback' })[0]?.ports
  expect(ports({ port: 8080, nodePort: 30080 })).toEqual([8080, 30080, 0])
  expect(ports({ port: 80, nodePort: 30080 })).toEqual([30080, 0])
  expect(ports({ port: 80 })).toEqual([0])
})

test('the loopback address is that of the family unless another is given', () => {
  const ip = (family: Route['family'], policy: ListenPolicy) =>
    listenersOf(testRoute('shop/web', { family }), policy)[0]?.ip
  expect(ip('ipv4', { kind: 'loopback' })).toBe('127.0.0.1')
  expect(ip('ipv6', { kind: 'loopback' })).toBe('::1')
  expect(ip('ipv4', { kind: 'loopback', host: '127.0.0.9' })).toBe('127.0.0.9')
})

function listenersOf(route: Route, policy = serviceAddresses): readonly PlannedListener[] {
  return planRoute(route, testView().node, policy).listeners
}

function addresses(listeners: readonly PlannedListener[]): readonly string[] {
  return listeners.map(({ purpose, ip, ports }) => `${purpose} ${ip}:${ports.join()}`)
}
