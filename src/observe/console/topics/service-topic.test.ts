import { expect, test } from 'vitest'
import { objectKey } from '../../../api/records.ts'
import { answerTo } from '../../../core/explain/testing/given.ts'
import { verdictText, whyNotText } from '../../../core/explain/words.ts'
import { routeKey } from '../../../core/route.ts'
import { service, slice } from '../../../core/testing/objects.ts'
import type { ServiceDetail } from '../wire.ts'
import { RecordingViewer, ShownNode } from './testing/shown-node.ts'

const web = service(
  'shop/web',
  {
    type: 'LoadBalancer',
    clusterIP: '10.96.0.1',
    externalTrafficPolicy: 'Local',
    loadBalancerSourceRanges: ['198.51.100.0/24'],
    ports: [{ port: 80, nodePort: 30_080 }],
  },
  { loadBalancer: { ingress: [{ ip: '203.0.113.1' }] } },
)
const endpoints = slice(
  'shop/web-1',
  'web',
  [
    { addresses: ['10.64.0.1'], nodeName: 'here', zone: 'a' },
    { addresses: ['10.64.0.2'], nodeName: 'there', zone: 'b' },
    { addresses: ['10.64.0.3'], conditions: { ready: false } },
    { addresses: ['10.64.0.4'], conditions: { ready: false, serving: true, terminating: true } },
  ],
  [8080],
)
const key = routeKey('shop', 'web', '', 'TCP')

async function following(node: ShownNode, ...path: [namespace: string, name: string]) {
  const viewer = new RecordingViewer()
  const follow = node.follow('service', viewer, ...path)
  await node.clock.advance(0)
  return { viewer, follow, last: () => viewer.of('service').at(-1) as ServiceDetail }
}

test('it shows every way in, what becomes of clients there, and every endpoint', async () => {
  const node = new ShownNode([web, endpoints])
  const { last } = await following(node, 'shop', 'web')
  const forwarded = (to: readonly string[], policy: string, text: string) => ({ does: 'forward', text, policy, to })
  const all = forwarded(['10.64.0.1:8080', '10.64.0.2:8080'], 'Cluster', 'answered by one of 2 endpoints')
  const here = forwarded(['10.64.0.1:8080'], 'Local', 'answered by 1 endpoint')
  const mayCome = { text: 'answered by 1 endpoint, if the client may come' }
  expect(last()).toMatchObject({ key: 'shop/web', row: { key: 'shop/web' }, notices: [] })
  expect(last().ports).toEqual([
    {
      route: 'shop/web/TCP',
      family: 'ipv4',
      port: { port: 80, nodePort: 30_080, protocol: 'TCP' },
      entrances: [
        { kind: 'cluster-ip', address: '10.96.0.1:80', local: all, outside: all },
        {
          kind: 'load-balancer-ip',
          address: '203.0.113.1:80',
          local: { ...all, text: 'answered by one of 2 endpoints, if the client may come' },
          outside: { ...here, ...mayCome },
          allowed: ['198.51.100.0/24'],
        },
        { kind: 'node-port', address: '30080', local: all, outside: here },
      ],
      endpoints: [
        { address: '10.64.0.1:8080', node: 'here', zone: 'a', isLocal: true, state: 'ready', share: 0.5 },
        { address: '10.64.0.2:8080', node: 'there', zone: 'b', state: 'ready', share: 0.5 },
        { address: '10.64.0.3:8080', state: 'not ready', whyNot: 'not ready' },
        {
          address: '10.64.0.4:8080',
          state: 'terminating, still serving',
          whyNot: 'terminating, and others are there',
        },
      ],
    },
  ])
})

test('one that no proxy is involved in says so', async () => {
  const headless = service('shop/headless', { clusterIP: 'None', ports: [{ port: 80 }] })
  const { last } = await following(new ShownNode([headless]), 'shop', 'headless')
  expect(last()).toMatchObject({
    ports: [],
    notices: [{ severity: 'note', text: expect.stringContaining('no proxy is involved') as string }],
  })
})

test('its words are those of the explanation', async () => {
  const node = new ShownNode([web, endpoints])
  const { last } = await following(node, 'shop', 'web')
  const answer = answerTo(node.world(), '10.96.0.1:80', { from: 'pod' })
  if (!answer.ok) throw new Error(answer.message)
  const [explanation] = answer.explanations
  const [port] = last().ports
  expect(port?.entrances[0]?.local.text).toBe(explanation && verdictText(explanation))
  expect(port?.endpoints.flatMap(({ whyNot }) => whyNot ?? [])).toEqual(explanation?.others.map(whyNotText))
})

test('it is told again when it has changed, and not when another has', async () => {
  const node = new ShownNode([web])
  const { viewer, last } = await following(node, 'shop', 'web')
  node.catalog.upsert(service('shop/db', { clusterIP: '10.96.0.2', ports: [{ port: 80 }] }))
  await node.clock.advance(1_000)
  expect(viewer.of('service')).toHaveLength(1)
  node.catalog.upsert(endpoints)
  node.sync()
  await node.clock.advance(250)
  expect(last().ports[0]?.endpoints).toHaveLength(4)
  node.catalog.remove('Service', objectKey(web))
  await node.clock.advance(250)
  expect(last()).toEqual({ key: 'shop/web', isGone: true, ports: [], notices: [] })
})

test('one that is not there yet is shown as soon as it is', async () => {
  const node = new ShownNode()
  const { last } = await following(node, 'shop', 'web')
  expect(last()).toHaveProperty('isGone', true)
  node.catalog.upsert(web)
  await node.clock.advance(250)
  expect(last()).not.toHaveProperty('isGone')
})

test('who reads slowly gets the newest state only', async () => {
  const node = new ShownNode([web])
  const { viewer, last } = await following(node, 'shop', 'web')
  viewer.isBehind = true
  for (const ip of ['10.64.0.5', '10.64.0.6', '10.64.0.7']) {
    node.catalog.upsert(slice('shop/web-1', 'web', [ip], [8080]))
    node.sync()
    await node.clock.advance(500)
  }
  viewer.isBehind = false
  await node.clock.advance(250)
  expect(viewer.of('service')).toHaveLength(2)
  expect(last().ports[0]?.endpoints.map(({ address }) => address)).toEqual(['10.64.0.7:8080'])
})

test('what it carries is shown for the port and for each endpoint, also for one that is gone', async () => {
  const node = new ShownNode([web, endpoints])
  const carry = (connections: number) =>
    node.states.ipv4.traffic.set(key, {
      connections,
      open: 4,
      endpoints: new Map([
        ['10.64.0.1:8080', { connections, open: 3 }],
        ['10.64.0.9:8080', { open: 1 }],
      ]),
    })
  carry(10)
  const { last } = await following(node, 'shop', 'web')
  await node.clock.advance(250)
  expect(last().row?.traffic).toEqual({ connections: 10, open: 4 })
  carry(30)
  await node.clock.advance(1_500)
  const lastUsed = expect.any(String) as string
  const [port] = last().ports
  expect(port).toMatchObject({ traffic: { connections: 30, open: 4, connectionRate: 20, lastUsed }, skew: 2 })
  expect(port?.endpoints[0]?.traffic).toEqual({ connections: 30, open: 3, connectionRate: 20, lastUsed })
  expect(port?.endpoints.at(-1)).toEqual({
    address: '10.64.0.9:8080',
    state: 'terminating',
    whyNot: 'in no slice any more, but connections to it are open',
    traffic: { open: 1 },
  })
})

test('why it is not programmed is told after the sync that could not', async () => {
  const node = new ShownNode([web, endpoints])
  const { last } = await following(node, 'shop', 'web')
  await node.clock.advance(1_000)
  node.states.ipv4.failed = new Map([[key, 'no memory']])
  node.states.ipv4.tally = { count: 1, failures: 0, last: undefined, lastFailure: undefined, isFailing: false }
  await node.clock.advance(250)
  expect(last().ports[0]?.notProgrammed).toBe('no memory')
})
