import { expect, test } from 'vitest'
import type { Route } from '../../../core/route.ts'
import { testEndpoint, testRoute, withWishes } from '../../../core/testing/routes.ts'
import { doorName, doorsInUse, doorsOf, keepsSomebody } from './doors.ts'
import type { PortalSettings } from './settings.ts'

const endpoints = [testEndpoint('10.64.0.5', 8080, { isLocal: true }), testEndpoint('10.64.1.5', 8080)]
const settings: PortalSettings = {
  family: 'ipv4',
  localTraffic: { kind: 'cidr', cidr: '10.64.0.0/24' },
  masqueradeAll: false,
  keepsClients: true,
  listenIp: '192.0.2.1',
  hostIp: '192.0.2.1',
  nodePortIps: ['0.0.0.0'],
}
const web = testRoute('shop/web', { endpoints })
const open = withWishes(web, { nodePort: 30080 })
const local = withWishes(web, { nodePort: 30080, externalPolicy: 'Local' })
const wishing = (clientAddress: 'node' | 'transparent') =>
  withWishes(testRoute('shop/web', { endpoints, relaying: { clientAddress } }), { nodePort: 30080 })

test.each<[string, Route, Partial<PortalSettings>, readonly string[]]>([
  ['pods keep their address at a cluster IP', web, {}, ['Cluster pods', 'Cluster pods']],
  ['nobody does at a node port with policy Cluster', open, {}, ['Cluster nobody', 'Cluster nobody']],
  ['everybody does with policy Local', local, {}, ['Cluster pods', 'Local everybody']],
  ['masqueradeAll is for cluster IPs', web, { masqueradeAll: true }, ['Cluster nobody', 'Cluster nobody']],
  ['and for nothing else', local, { masqueradeAll: true }, ['Cluster pods', 'Local everybody']],
  ['where pods cannot be told, everybody', web, { localTraffic: { kind: 'none' } }, twice('Cluster everybody')],
  ['nobody where the kernel cannot', local, { keepsClients: false }, ['Cluster nobody', 'Local nobody']],
  ['nobody over UDP', withWishes(web, { protocol: 'UDP' }), {}, twice('Cluster nobody')],
  ['nobody where the Service says so', wishing('node'), {}, twice('Cluster nobody')],
  ['everybody where the Service says so', wishing('transparent'), {}, twice('Cluster everybody')],
])('%s', (_, route, given, expected) => {
  const last = route.entrances.at(-1) ?? route.entrances[0]
  const { inside, outside } = doorsOf(last, route, { ...settings, ...given })
  expect([inside, outside].map(doorName)).toEqual(expected)
})

test('each door is there once', () => {
  expect(doorsInUse(web, settings).map(doorName)).toEqual(['Cluster pods'])
  expect(doorsInUse(open, settings).map(doorName)).toEqual(['Cluster nobody', 'Cluster pods'])
  expect(doorsInUse(local, settings).map(doorName)).toEqual(['Cluster pods', 'Local everybody'])
  expect(doorsInUse(local, { ...settings, keepsClients: false }).map(doorName)).toEqual([
    'Cluster nobody',
    'Local nobody',
  ])
})

test('whether a route needs answers that find back does not depend on whether they do', () => {
  expect(keepsSomebody(web, { ...settings, keepsClients: false })).toBe(true)
  expect(keepsSomebody(web, { ...settings, masqueradeAll: true })).toBe(false)
  expect(keepsSomebody(wishing('node'), settings)).toBe(false)
})

function twice(name: string): readonly string[] {
  return [name, name]
}
