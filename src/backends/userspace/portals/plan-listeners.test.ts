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
  localTraffic: { kind: 'none' },
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
    listeners(withWishes(web, { nodePort: 30080 }), portalSettings({ ...fixed, nodePortAddresses }, node)).slice(1),
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
  expect(planListeners(withWishes(web, { protocol: 'SCTP' }), { ...settings, canBeTransparent: false })).toMatchObject({
    listeners: [],
    problem: expect.stringContaining('SCTP'),
  })
})

test('pods of this node see the client where the Service wants it and the kernel can, those of others never', () => {
  const onNode = testEndpoint(node.ip, 8080, { isLocal: true })
  const route = testRoute('shop/web', {
    endpoints: [here, there, onNode],
    relaying: { clientAddress: 'transparent' },
  })
  const transparentIps = (given: Route, canBeTransparent: boolean) =>
    planListeners(given, { ...settings, canBeTransparent }).listeners.map(({ pool }) =>
      pool.endpoints.filter(({ isTransparent }) => isTransparent === true).map(({ ip }) => ip),
    )
  expect(transparentIps(route, true)).toEqual([[here.ip]])
  expect(transparentIps(route, false)).toEqual([[]])
  expect(transparentIps(withWishes(route, { protocol: 'UDP' }), true)).toEqual([[]])
  expect(transparentIps(web, true)).toEqual([[]])
})

function listeners(route: Route, given: PortalSettings = settings): readonly string[] {
  return planListeners(route, { ...given, canBeTransparent: false }).listeners.map(({ purpose, ip, ports, pool }) => {
    const endpoints = pool.endpoints.map((endpoint) => endpoint.ip)
    return `${purpose} ${ip}:${ports[0]} -> ${endpoints.join(' ')}`
  })
}
