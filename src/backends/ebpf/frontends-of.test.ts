import { expect, test } from 'vitest'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import type { Wishes } from '../../core/testing/routes.ts'
import { socketRoute } from './frontends-of.ts'

const [here, elsewhere] = [testEndpoint('10.64.1.1', 80, { isLocal: true }), testEndpoint('10.64.2.1', 80)]

function planned(wishes: Wishes, ownIps: readonly string[] = []) {
  const route = testRoute('shop/web', { endpoints: [here, elsewhere], ...wishes })
  const { frontends, leftToPackets, endpoints } = socketRoute(route, (ip) => ownIps.includes(ip))
  return {
    frontends: frontends.map(
      ({ id, list, isOnLoopbackOnly }) => `${id} ${list}${isOnLoopbackOnly ? ', on loopback only' : ''}`,
    ),
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
    left: ['10.96.0.10 tcp 80: this node has the address itself'],
  })
})

test.each(['source-hash', 'maglev'] as const)('%s is left to the packets, at every entrance', (algorithm) => {
  expect(planned({ externalIPs: ['203.0.113.1'], traffic: { algorithm } })).toMatchObject({
    frontends: [],
    left: [
      expect.stringContaining(`10.96.0.10 tcp 80: ${algorithm} goes by the address of the client`),
      expect.stringContaining(`203.0.113.1 tcp 80: ${algorithm} goes by the address of the client`),
    ],
  })
})

test('what is limited is left to the packets, at every entrance', () => {
  const left = ['10.96.0.10 tcp 80: its limits', 'node-port tcp 30080: its limits'].map((start) =>
    expect.stringContaining(start),
  )
  for (const traffic of [{ maxConnections: 3 }, { maxDialsPerSecond: 3 }, { maxConnectionAgeMs: 3 }])
    expect(planned({ nodePort: 30_080, traffic })).toMatchObject({ frontends: [], left })
})

test('a list that does not fit into a list word is left to the packets, whole', () => {
  const longest = Array.from({ length: 65_535 }, (_, index) => testEndpoint(`10.64.${index >> 8}.${index & 255}`, 80))
  expect(planned({ endpoints: longest }).frontends).toEqual(['10.96.0.10 tcp 80 internal'])
  expect(planned({ endpoints: [...longest, testEndpoint('10.65.0.1', 80)] })).toMatchObject({
    frontends: [],
    left: [`10.96.0.10 tcp 80: ${tooLong}`],
  })
})

const tooLong = 'its list would be longer than 65535, each endpoint counted as often as its weight says'

test('weights make a list too long, and nobody works out which endpoint would come when', () => {
  const endpoints = Array.from({ length: 20_000 }, (_, index) => ({
    ...testEndpoint(`10.64.${index >> 8}.${index & 255}`, 80),
    weight: index % 2 === 0 ? 1 : 7,
  }))
  const startMs = performance.now()
  expect(planned({ endpoints })).toMatchObject({ frontends: [], left: [`10.96.0.10 tcp 80: ${tooLong}`] })
  // The list itself takes seconds.
  expect(performance.now() - startMs).toBeLessThan(500)
})

test('an endpoint with a larger weight is in the list as often as that', () => {
  const route = testRoute('shop/web', { endpoints: [here, { ...elsewhere, weight: 3 }] })
  const { lists, endpoints } = socketRoute(route, () => false)
  expect(lists.internal).toEqual({
    kind: 'endpoints',
    addresses: ['10.64.2.1:80', '10.64.1.1:80', '10.64.2.1:80', '10.64.2.1:80'],
  })
  expect(endpoints.map(({ address }) => address)).toEqual(['10.64.1.1:80', '10.64.2.1:80'])
})

test('an endpoint that serves, but not the clients of this node, has a record for nobody new', () => {
  expect(planned({ internalPolicy: 'Local' }).lists).toEqual(['10.64.1.1:80 1', '10.64.2.1:80 0'])
})

test('with affinity the packets serve, except where they cannot: a node port on loopback', () => {
  const affinity = 'nftables serves, and remembers which endpoint a client has (sessionAffinity)'
  const sticky = { affinitySeconds: 600, externalIPs: ['203.0.113.1'], nodePort: 30_080 }
  expect(planned(sticky)).toMatchObject({
    frontends: ['node-port tcp 30080 external, on loopback only'],
    left: [`10.96.0.10 tcp 80: ${affinity}`, `203.0.113.1 tcp 80: ${affinity}`, `node-port tcp 30080: ${affinity}`],
  })
  expect(planned({ ...sticky, sockets: { balancing: 'off' } })).toMatchObject({
    frontends: [],
    left: expect.arrayContaining([expect.stringContaining('node-port tcp 30080: the Service wants it so')]),
  })
})
