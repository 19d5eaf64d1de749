import { expect, test } from 'vitest'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import type { Route } from '../../core/route.ts'
import { VersionedMap } from '../../core/versioned-map.ts'
import { socketRoute } from './frontends-of.ts'
import type { SocketPlan } from './plan.ts'
import { whoServes } from './who-serves.ts'

function planOf(...routes: readonly Route[]): SocketPlan {
  const placed = routes.map(
    (route) => [route.key, { route: socketRoute(route, () => false), held: undefined }] as const,
  )
  return {
    node: { ownIps: new Set(['192.168.7.1']), nodePortIps: new Set(['192.168.7.1']) },
    routesByKey: new VersionedMap(new Map(placed)),
    frontendsById: new VersionedMap(new Map()),
    withoutRoom: new Set(),
  }
}

const [endpoint, stranger] = [testEndpoint('10.64.1.1', 8080), testEndpoint('10.64.9.9', 80)]

test.each([
  // Of a Service that is gone: its endpoint still has another one.
  ['10.96.0.1', false],
  ['192.168.7.1', true],
  ['127.0.0.1', true],
  ['0.0.0.0', true],
  // Of another node.
  ['192.168.7.2', false],
])('a connection to %s at a port that is a node port of another Service has left it: %s', (ip, expected) => {
  const plan = planOf(
    testRoute('shop/other', { clusterIP: '10.96.0.2', port: 80, endpoints: [endpoint] }),
    testRoute('shop/stranger', { clusterIP: '10.96.0.3', port: 80, nodePort: 30_080, endpoints: [stranger] }),
  )
  const connection = { protocol: 'TCP', ip: '10.64.1.1', port: 8080, asked: { ip, port: 30_080 } } as const
  expect(whoServes([plan], true).left([connection]).has(connection)).toBe(expected)
})
