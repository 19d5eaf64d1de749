import { expect, test } from 'vitest'
import { testEndpoint, testRoute, withWishes } from '../testing/routes.ts'
import { isSameRoute } from './same-route.ts'

const here = testEndpoint('10.0.0.1', 8080, { isLocal: true })
const there = testEndpoint('10.0.0.2', 8080)

const web = testRoute('demo/web', {
  endpoints: [here, there],
  externalIPs: ['192.0.2.1'],
  loadBalancerIPs: ['192.0.2.2'],
  sourceRanges: ['10.0.0.0/8'],
  nodePort: 30_080,
})

test('equal data is the same route, whoever made it', () => {
  expect(isSameRoute(web, structuredClone(web))).toBe(true)
  expect(isSameRoute(undefined, undefined)).toBe(true)
})

test('a route that came or went is another', () => {
  expect(isSameRoute(web, undefined)).toBe(false)
  expect(isSameRoute(undefined, web)).toBe(false)
})

test('other endpoints on this node make a difference, even if they are as many', () => {
  const left = withWishes(web, { localEndpoints: [here] })
  expect(isSameRoute(left, withWishes(web, { localEndpoints: [there] }))).toBe(false)
})

test('so does an entrance that is hidden', () => {
  const inside = testRoute('demo/web', { endpoints: [here] })
  expect(isSameRoute(inside, withWishes(inside, { hasHiddenEntrance: true }))).toBe(false)
})

test('so does an entrance that is closed while others are open', () => {
  const closed = { kind: 'reject', policy: 'Cluster' } as const
  const [first, ...others] = web.entrances
  const entrances = [
    first,
    ...others.map((entrance) => (entrance.kind === 'node-port' ? { ...entrance, outside: closed } : entrance)),
  ] as const
  expect(isSameRoute(web, { ...web, entrances })).toBe(false)
})

test.each([
  ['an endpoint', { endpoints: [here] }],
  ['the state of an endpoint', { endpoints: [here, { ...there, zoneHints: ['a'] }] }],
  ['who may be used from the cluster', { clusterEndpoints: [here] }],
  ['who may be used on this node', { localEndpoints: [] }],
  ['who needs state', { reachableEndpoints: [here] }],
  ['drop instead of reject', { clusterEndpoints: [], hasUsableEndpoint: false }],
  ['the internal policy', { internalPolicy: 'Local' }],
  ['the external policy', { externalPolicy: 'Local' }],
  ['an external IP', { externalIPs: ['192.0.2.9'] }],
  ['a node port', { nodePort: 30_081 }],
  ['the source ranges', { sourceRanges: ['10.0.0.0/9'] }],
  ['whether they cover the node', { sourceRangesCoverNode: true }],
  ['the affinity', { affinitySeconds: 10 }],
  ['the port', { port: 81 }],
  ['a wish at the sockets of clients', { sockets: { balancing: 'off' } }],
  ['how an endpoint is chosen', { traffic: { algorithm: 'round-robin' } }],
  ['a wish of a Windows node', { windows: { rebuilds: true } }],
] as const)('%s makes a difference', (_, wishes) => {
  expect(isSameRoute(web, withWishes(web, wishes))).toBe(false)
})
