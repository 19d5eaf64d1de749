import { expect, test } from 'vitest'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import type { Wishes } from '../../core/testing/routes.ts'
import { socketRoute } from './frontends-of.ts'

const [here, elsewhere] = [testEndpoint('10.64.1.1', 80, { isLocal: true }), testEndpoint('10.64.2.1', 80)]

function planned(wishes: Wishes, ownIps: readonly string[] = []) {
  const route = testRoute('shop/web', { endpoints: [here, elsewhere], ...wishes })
  const { frontends, leftToPackets, endpoints } = socketRoute(route, (ip) => ownIps.includes(ip))
  return {
    frontends: frontends.map(({ id, list }) => `${id} ${list}`),
    left: leftToPackets.map(({ id, why }) => `${id}: ${why}`),
    lists: endpoints.map(({ address, lists }) => `${address} ${lists}`),
  }
}

test('each entrance leads to the list of its kind', () => {
  expect(planned({ externalIPs: ['203.0.113.1'], nodePort: 30_080 }).frontends).toEqual([
    '10.96.0.10 tcp 80 internal',
    '203.0.113.1 tcp 80 external',
    'node-port tcp 30080 external',
  ])
})

test('an external IP that is the cluster IP, too, is the cluster IP', () => {
  expect(planned({ externalIPs: ['10.96.0.10'] }).frontends).toEqual(['10.96.0.10 tcp 80 internal'])
})

test('a cluster IP that this node has is left to the packets, and the other entrances are not', () => {
  expect(planned({ externalIPs: ['203.0.113.1'] }, ['10.96.0.10', '203.0.113.1'])).toMatchObject({
    frontends: ['203.0.113.1 tcp 80 external'],
    left: ['10.96.0.10 tcp 80: this node has the address'],
  })
})

test('an endpoint that serves, but not the clients of this node, has a record for nobody new', () => {
  expect(planned({ internalPolicy: 'Local' }).lists).toEqual(['10.64.1.1:80 1', '10.64.2.1:80 0'])
})
