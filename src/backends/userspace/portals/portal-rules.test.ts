import { expect, test } from 'vitest'
import type { Route } from '../../../core/route.ts'
import { testEndpoint, testRoute, withWishes } from '../../../core/testing/routes.ts'
import { renderRule } from '../../../dataplane/iptables/language/render-rule.ts'
import { portalRules } from './portal-rules.ts'
import type { RoutePorts } from './plan-listeners.ts'
import type { PortalSettings } from './settings.ts'

const here = testEndpoint('10.64.0.5', 8080, { isLocal: true })
const there = testEndpoint('10.64.1.5', 8080)
const settings: PortalSettings = {
  family: 'ipv4',
  localTraffic: { kind: 'cidr', cidr: '10.64.0.0/16' },
  masqueradeAll: false,
  keepsClients: false,
  listenIp: '192.0.2.1',
  hostIp: '192.0.2.1',
  nodePortIps: ['0.0.0.0'],
}
const twoPorts: RoutePorts = { byDoor: { 'Cluster nobody': 41000, 'Local nobody': 42000 }, nodePortIps: ['0.0.0.0'] }
const [all, local] = ['192.0.2.1:41000', '192.0.2.1:42000']

const open = testRoute('shop/web', { clusterIP: '10.96.0.7', endpoints: [here, there] })
const balanced: Route = withWishes(open, { loadBalancerIPs: ['203.0.113.7'] })
const localOnly = { externalPolicy: 'Local' } as const

test('a cluster IP leads to the endpoints of its policy, for pods and for the node', () => {
  expect(nat(open)).toEqual([
    `KUBE-PORTALS-CONTAINER -d 10.96.0.7 --dport 80 => ${all}`,
    `KUBE-PORTALS-HOST -d 10.96.0.7 --dport 80 => ${all}`,
  ])
  expect(nat(withWishes(open, { internalPolicy: 'Local' }))).toEqual([
    `KUBE-PORTALS-CONTAINER -d 10.96.0.7 --dport 80 => ${local}`,
    `KUBE-PORTALS-HOST -d 10.96.0.7 --dport 80 => ${local}`,
  ])
})

test('with the external policy Local, pods and the node still use all endpoints of a load-balancer address', () => {
  expect(natOf('203.0.113.7', withWishes(balanced, localOnly))).toEqual([
    `KUBE-PORTALS-CONTAINER -d 203.0.113.7 --dport 80 -s 10.64.0.0/16 => ${all}`,
    `KUBE-PORTALS-CONTAINER -d 203.0.113.7 --dport 80 => ${local}`,
    `KUBE-PORTALS-HOST -d 203.0.113.7 --dport 80 => ${all}`,
  ])
})

test('so they do on a node port', () => {
  const route: Route = withWishes(open, { nodePort: 30080, ...localOnly })
  expect(nat(route).slice(2)).toEqual([
    `KUBE-NODEPORT-CONTAINER --dport 30080 -s 10.64.0.0/16 => ${all}`,
    `KUBE-NODEPORT-CONTAINER --dport 30080 => ${local}`,
    `KUBE-NODEPORT-HOST --dport 30080 => ${all}`,
  ])
})

test('where pods cannot be told apart, the external policy Local is for them too', () => {
  const unknown: PortalSettings = { ...settings, localTraffic: { kind: 'none' } }
  expect(natOf('203.0.113.7', withWishes(balanced, localOnly), unknown)).toEqual([
    `KUBE-PORTALS-CONTAINER -d 203.0.113.7 --dport 80 => ${local}`,
    `KUBE-PORTALS-HOST -d 203.0.113.7 --dport 80 => ${all}`,
  ])
})

test('only allowed sources reach a load-balancer address, and the others are dropped', () => {
  const route: Route = withWishes(balanced, { sourceRanges: ['198.51.100.0/24', '10.0.0.0/8'] })
  expect(natOf('203.0.113.7', route)).toEqual([
    `KUBE-PORTALS-CONTAINER -d 203.0.113.7 --dport 80 -s 198.51.100.0/24 => ${all}`,
    `KUBE-PORTALS-CONTAINER -d 203.0.113.7 --dport 80 -s 10.0.0.0/8 => ${all}`,
    `KUBE-PORTALS-HOST -d 203.0.113.7 --dport 80 -s 198.51.100.0/24 => ${all}`,
    `KUBE-PORTALS-HOST -d 203.0.113.7 --dport 80 -s 10.0.0.0/8 => ${all}`,
  ])
  expect(filter(route)).toContain('KUBE-PORTALS-FIREWALL -d 203.0.113.7 --dport 80 -j DROP')
  expect(natOf('10.96.0.7', route)).toEqual(nat(open))
})

test('an external IP that is an address of the load balancer, too, is guarded like it', () => {
  const route = withWishes(balanced, { externalIPs: ['203.0.113.7'], sourceRanges: ['198.51.100.0/24'] })
  const rules = natOf('203.0.113.7', route)
  expect(rules.length).toBeGreaterThan(2)
  expect(rules.filter((rule) => !rule.includes('-s 198.51.100.0/24'))).toEqual([])
  expect(filter(route)).toContain('KUBE-PORTALS-FIREWALL -d 203.0.113.7 --dport 80 -j DROP')
})

test('a rule has room for one source, so ranges and pods are asked for where they overlap', () => {
  const sourceRanges = ['198.51.100.0/24', '10.0.0.0/8', '10.64.3.0/24']
  const route = withWishes(balanced, { ...localOnly, sourceRanges })
  expect(natOf('203.0.113.7', route).slice(0, 5)).toEqual([
    `KUBE-PORTALS-CONTAINER -d 203.0.113.7 --dport 80 -s 198.51.100.0/24 => ${local}`,
    `KUBE-PORTALS-CONTAINER -d 203.0.113.7 --dport 80 -s 10.64.0.0/16 => ${all}`,
    `KUBE-PORTALS-CONTAINER -d 203.0.113.7 --dport 80 -s 10.0.0.0/8 => ${local}`,
    `KUBE-PORTALS-CONTAINER -d 203.0.113.7 --dport 80 -s 10.64.3.0/24 => ${all}`,
    `KUBE-PORTALS-CONTAINER -d 203.0.113.7 --dport 80 -s 10.64.3.0/24 => ${local}`,
  ])
  const byDevice: PortalSettings = { ...settings, localTraffic: { kind: 'interface', name: 'cbr0' } }
  expect(natOf('203.0.113.7', withWishes(route, { sourceRanges: ['10.0.0.0/8'] }), byDevice)[0]).toBe(
    `KUBE-PORTALS-CONTAINER -d 203.0.113.7 --dport 80 -i cbr0 -s 10.0.0.0/8 => ${all}`,
  )
})

test('node ports are open on the addresses that are ours, and on no other', () => {
  const route: Route = withWishes(open, { nodePort: 30080 })
  const rulesAt = (nodePortIps: readonly string[]) => nat(route, settings, { ...twoPorts, nodePortIps }).slice(2)
  expect(rulesAt(['192.0.2.1', '127.0.0.1'])).toEqual([
    `KUBE-NODEPORT-CONTAINER -d 192.0.2.1 --dport 30080 => ${all}`,
    `KUBE-NODEPORT-HOST -d 192.0.2.1 --dport 30080 => ${all}`,
    `KUBE-NODEPORT-CONTAINER -d 127.0.0.1 --dport 30080 => ${all}`,
    `KUBE-NODEPORT-HOST -d 127.0.0.1 --dport 30080 => ${all}`,
  ])
  expect(rulesAt([])).toEqual([])
})

test('clients of a node port are let through to each port that it leads to', () => {
  const accepted = (route: Route) => filter(route).filter((rule) => rule.startsWith('KUBE-NODEPORT-NON-LOCAL'))
  expect(accepted(open)).toEqual([])
  expect(accepted(withWishes(open, { nodePort: 30080 }))).toEqual([
    'KUBE-NODEPORT-NON-LOCAL --dport 41000 NEW -j ACCEPT',
  ])
  expect(accepted(withWishes(open, { nodePort: 30080, ...localOnly }))).toEqual([
    'KUBE-NODEPORT-NON-LOCAL --dport 41000 NEW -j ACCEPT',
    'KUBE-NODEPORT-NON-LOCAL --dport 42000 NEW -j ACCEPT',
  ])
})

test('who connects to a proxy port without a portal is refused', () => {
  expect(filter(open, { byDoor: { 'Cluster nobody': 41000 }, nodePortIps: [] })).toEqual([
    'KUBE-PORTALS-PORTS -d 192.0.2.1 --dport 41000 -m conntrack ! --ctstate DNAT -j REJECT',
  ])
})

test('without any endpoint everybody is refused; without a local one, who may use no other is dropped', () => {
  const asked = { loadBalancerIPs: ['203.0.113.7'], ...localOnly }
  expect(filter(testRoute('shop/web', asked))).toEqual([
    'KUBE-PORTALS-PORTS -d 192.0.2.1 --dport 41000 -j REJECT',
    'KUBE-PORTALS-PORTS -d 192.0.2.1 --dport 42000 -j REJECT',
  ])
  expect(filter(testRoute('shop/web', { ...asked, endpoints: [there] }))).toEqual([
    'KUBE-PORTALS-PORTS -d 192.0.2.1 --dport 41000 -m conntrack ! --ctstate DNAT -j REJECT',
    'KUBE-PORTALS-PORTS -d 192.0.2.1 --dport 42000 -j DROP',
  ])
})

test('health checks of load balancers are let through', () => {
  expect(filter(withWishes(balanced, { healthCheckNodePort: 31000 }))).toContain(
    'KUBE-PORTALS-PORTS --dport 31000 -j ACCEPT',
  )
})

test('a port that could not be had leaves out what would lead to it', () => {
  const onlyLocal: RoutePorts = { byDoor: { 'Local nobody': 42000 }, nodePortIps: [] }
  expect(nat(withWishes(balanced, localOnly), settings, onlyLocal)).toEqual([
    `KUBE-PORTALS-CONTAINER -d 203.0.113.7 --dport 80 => ${local}`,
  ])
})

test('each entrance leads to the door by which the right addresses are kept', () => {
  const kept: PortalSettings = { ...settings, keepsClients: true }
  const doors: RoutePorts = {
    byDoor: { 'Cluster pods': 41000, 'Cluster nobody': 42000, 'Local everybody': 43000 },
    nodePortIps: ['0.0.0.0'],
  }
  const [podsPort, plainPort, localPort] = [41000, 42000, 43000].map((port) => `192.0.2.1:${port}`)
  expect(nat(withWishes(open, { nodePort: 30080 }), kept, doors)).toEqual([
    `KUBE-PORTALS-CONTAINER -d 10.96.0.7 --dport 80 => ${podsPort}`,
    `KUBE-PORTALS-HOST -d 10.96.0.7 --dport 80 => ${podsPort}`,
    `KUBE-NODEPORT-CONTAINER --dport 30080 => ${plainPort}`,
    `KUBE-NODEPORT-HOST --dport 30080 => ${plainPort}`,
  ])
  expect(nat(withWishes(open, { nodePort: 30080, ...localOnly }), kept, doors).slice(2)).toEqual([
    `KUBE-NODEPORT-CONTAINER --dport 30080 -s 10.64.0.0/16 => ${podsPort}`,
    `KUBE-NODEPORT-CONTAINER --dport 30080 => ${localPort}`,
    `KUBE-NODEPORT-HOST --dport 30080 => ${podsPort}`,
  ])
})

test('IPv6 addresses are written with brackets', () => {
  const ipv6: PortalSettings = {
    ...settings,
    family: 'ipv6',
    listenIp: '2001:db8::5',
    hostIp: '2001:db8::5',
    localTraffic: { kind: 'none' },
  }
  expect(nat(testRoute('shop/web', { family: 'ipv6', clusterIP: 'fd00::7' }), ipv6)).toEqual([
    'KUBE-PORTALS-CONTAINER -d fd00::7 --dport 80 => [2001:db8::5]:41000',
    'KUBE-PORTALS-HOST -d fd00::7 --dport 80 => [2001:db8::5]:41000',
  ])
})

function nat(route: Route, given = settings, ports = twoPorts): readonly string[] {
  return brief('nat', route, given, ports)
}

function natOf(ip: string, route: Route, given = settings): readonly string[] {
  return nat(route, given).filter((rule) => rule.includes(`-d ${ip} `))
}

function filter(route: Route, ports = twoPorts): readonly string[] {
  return brief('filter', route, settings, ports)
}

/** Without what all these rules have in common. */
function brief(table: string, route: Route, given: PortalSettings, ports: RoutePorts): readonly string[] {
  const hasNodePort = route.entrances.some(({ kind }) => kind === 'node-port')
  const held = hasNodePort ? ports : { ...ports, nodePortIps: [] }
  return portalRules({ route, settings: given, ports: held })
    .filter((placed) => placed.table === table)
    .map(({ chain, rule }) =>
      `${chain} ${renderRule(rule)}`
        .replace(/ -m comment --comment ("[^"]*"|\S+)/, '')
        .replace(/ -m tcp -p tcp/, '')
        .replace(' -m state --state', '')
        .replace('-j DNAT --to-destination', '=>'),
    )
}
