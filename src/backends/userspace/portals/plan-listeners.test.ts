import { expect, test } from 'vitest'
import type { Route } from '../../../core/route.ts'
import { testEndpoint, testRoute, withWishes } from '../../../core/testing/routes.ts'
import { planListeners } from './plan-listeners.ts'
import { portalSettings } from './settings.ts'
import type { FixedPortalSettings, PortalSettings } from './settings.ts'

const here = testEndpoint('10.64.0.5', 8080, { isLocal: true })
const there = testEndpoint('10.64.1.5', 8080)
const fixed: FixedPortalSettings = {
  family: 'ipv4',
  localTraffic: { kind: 'cidr', cidr: '10.64.0.0/24' },
  masqueradeAll: false,
  nodePortAddresses: [],
  localIps: () => ['127.0.0.1', '192.0.2.1', '198.51.100.1'],
}
const node = { name: 'here', zone: '', ip: '192.0.2.1' }
const settings = portalSettings(fixed, node)

const web = testRoute('shop/web', { endpoints: [here, there] })

test('a Service port has one proxy port, at the address of the node', () => {
  expect(listeners(web)).toEqual(['proxy-port 192.0.2.1:0 -> 10.64.0.5 10.64.1.5'])
})

test('where policies differ, each has a proxy port', () => {
  expect(listeners(withWishes(web, { loadBalancerIPs: ['203.0.113.7'], externalPolicy: 'Local' }))).toEqual([
    'proxy-port 192.0.2.1:0 -> 10.64.0.5 10.64.1.5',
    'proxy-port 192.0.2.1:0 -> 10.64.0.5',
  ])
  expect(listeners(withWishes(web, { internalPolicy: 'Local' }))).toEqual(['proxy-port 192.0.2.1:0 -> 10.64.0.5'])
  expect(listeners(withWishes(web, { externalPolicy: 'Local' }))).toEqual([
    'proxy-port 192.0.2.1:0 -> 10.64.0.5 10.64.1.5',
  ])
})

test('a node port is held, so that no program of the node takes it', () => {
  expect(listeners(withWishes(web, { nodePort: 30080, externalPolicy: 'Local' }))).toContain(
    'node-port 0.0.0.0:30080 -> 10.64.0.5',
  )
})

test('it is held on the addresses that node ports are open on', () => {
  const nodePortAddresses = ['192.0.2.0/24', '127.0.0.0/8']
  expect(
    listeners(withWishes(web, { nodePort: 30080 }), portalSettings({ ...fixed, nodePortAddresses }, node)).slice(-2),
  ).toEqual(['node-port 127.0.0.1:30080 -> 10.64.0.5 10.64.1.5', 'node-port 192.0.2.1:30080 -> 10.64.0.5 10.64.1.5'])
})

test('an address of one link is none that a node port can be held on', () => {
  const ipv6: FixedPortalSettings = {
    ...fixed,
    family: 'ipv6',
    nodePortAddresses: ['fe80::/10', '2001:db8::/32'],
    localIps: () => ['::1', 'fe80::1', '2001:db8::1'],
  }
  expect(portalSettings(ipv6, { ...node, ip: '2001:db8::1' }).nodePortIps).toEqual(['2001:db8::1'])
})

test('a node without an address of its own listens on all, and finds itself on loopback', () => {
  for (const ip of ['127.0.0.1', '192.0.2.99'])
    expect(portalSettings(fixed, { ...node, ip })).toMatchObject({ listenIp: '0.0.0.0', hostIp: '127.0.0.1' })
})

test('SCTP is a problem, and not a listener', () => {
  expect(planListeners(withWishes(web, { protocol: 'SCTP' }), settings)).toMatchObject({
    listeners: [],
    problem: expect.stringContaining('SCTP'),
  })
})

test('a proxy port knows whose address is kept, and which endpoints are on this node', () => {
  const pods = { kind: 'cidr', cidr: '10.64.0.0/24' } as const
  const { listeners: planned } = planListeners(withWishes(web, { nodePort: 30080 }), settings)
  expect(planned.map(({ keeps }) => keeps)).toEqual([undefined, { of: 'pods', pods }, undefined])
  // One pool, so that a client meets the same endpoint through each of them.
  expect(new Set(planned.map(({ pool }) => pool.id)).size).toBe(1)
  expect(planned[0]?.pool.endpoints).toEqual([
    { ip: here.ip, port: 8080, isHere: true },
    { ip: there.ip, port: 8080 },
  ])
})

function listeners(route: Route, given: PortalSettings = settings): readonly string[] {
  return planListeners(route, given).listeners.map(({ purpose, ip, ports, pool }) => {
    const endpoints = pool.endpoints.map((endpoint) => endpoint.ip)
    return `${purpose} ${ip}:${ports[0]} -> ${endpoints.join(' ')}`
  })
}
