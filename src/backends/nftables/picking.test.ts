/** Who gets a connection under each algorithm, with weights; and what a change of one endpoint then costs. */
import { describe, expect, test } from 'vitest'
import type { Algorithm } from '../../api/records.ts'
import { maglevSlots, maglevTable } from '../../core/balance/maglev.ts'
import type { Endpoint, Route } from '../../core/route.ts'
import { addressPlans } from '../../core/testing/random-cluster.ts'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import type { Wishes } from '../../core/testing/routes.ts'
import { describeOperations } from './testing/describe-operations.ts'
import { endingsOf } from './testing/evaluate-packet.ts'
import { fateOf } from './testing/fate.ts'
import { ProxiedNode } from './testing/proxied-node.ts'

const { node: localIps } = addressPlans.ipv4
const never = new AbortController().signal

/** The first two are on this node. */
function endpoints(...weights: readonly number[]): readonly Endpoint[] {
  return weights.map((weight, index) =>
    testEndpoint(`10.77.${index < 2 ? 1 : 2}.${index}`, 8080, { weight, isLocal: index < 2 }),
  )
}

function web(algorithm: Algorithm | undefined, wishes: Wishes): Route {
  return testRoute('shop/web:http', {
    clusterIP: '10.112.0.21',
    externalIPs: ['192.0.2.60'],
    nodePort: 30_080,
    traffic: algorithm && { algorithm },
    ...wishes,
  })
}

async function programmed(...routes: readonly Route[]): Promise<ProxiedNode> {
  const node = new ProxiedNode()
  await node.sync(routes, { full: true })
  return node
}

async function chances({ table }: ProxiedNode, destination: string, port = 80, source = '198.18.5.9') {
  const packet = { enters: 'prerouting', inInterface: 'eth0', protocol: 'tcp', source, destination, port } as const
  return Object.values(fateOf(endingsOf(await table.ruleset(), { family: 'ipv4', localIps }, packet)))
}

const entrances = [
  ['10.112.0.21', 80],
  ['192.0.2.60', 80],
  [localIps[0], 30_080],
] as const

describe.each(['random', 'round-robin', 'source-hash'] as const)('%s', (algorithm) => {
  test('follows weights at every entrance', async () => {
    const node = await programmed(web(algorithm, { endpoints: endpoints(1, 3, 6) }))
    for (const [ip, port] of entrances) expect(await chances(node, ip, port)).toEqual(['1/10', '3/10', '3/5'])
  })

  test('follows weights among the endpoints here, and among all for pods', async () => {
    const node = await programmed(web(algorithm, { endpoints: endpoints(1, 3, 6), externalPolicy: 'Local' }))
    for (const [ip, port] of entrances.slice(1)) {
      expect(await chances(node, ip, port)).toEqual(['1/4', '3/4'])
      expect(await chances(node, ip, port, '10.77.9.9')).toEqual(['1/10', '3/10', '3/5'])
    }
  })

  test('writes the slots of an endpoint that is replaced, and nothing else', async () => {
    const [first, second, third] = endpoints(1, 2, 3)
    if (first === undefined || second === undefined || third === undefined) throw new Error('three are needed')
    const list = [first, second, third] as const
    const moved = { ...third, ip: '10.77.2.9', address: '10.77.2.9:8080' }
    const node = await programmed(web(algorithm, { endpoints: list }))
    node.table.takeOperations()
    await node.sync([web(algorithm, { endpoints: [first, second, moved] })])
    const written = describeOperations(node.table.takeOperations()).filter((line) => line.startsWith('+'))
    expect(written).toHaveLength(entrances.length * 3)
    expect(written.every((line) => line.endsWith(': 10.77.2.9 . 8080'))).toBe(true)
  })
})

test('with affinity a new client gets an endpoint by weight', async () => {
  const node = await programmed(web(undefined, { endpoints: endpoints(1, 3, 6), affinitySeconds: 60 }))
  for (const [ip, port] of entrances) expect(await chances(node, ip, port)).toEqual(['1/10', '3/10', '3/5'])
})

test('a slot of a large share is not lost to rounding, and a small one is kept', async () => {
  const node = await programmed(web('random', { endpoints: endpoints(1, 1_000) }))
  expect(await chances(node, '10.112.0.21')).toEqual(['1/256', '255/256'])
})

test('Services that take turns have chains of their own, and share the others', async () => {
  const three = endpoints(1, 1, 1)
  const node = await programmed(
    web('round-robin', { endpoints: three }),
    testRoute('shop/api', { clusterIP: '10.112.0.22', endpoints: three, traffic: { algorithm: 'round-robin' } }),
    testRoute('shop/one', { clusterIP: '10.112.0.23', endpoints: endpoints(1), traffic: { algorithm: 'round-robin' } }),
    testRoute('shop/hash', { clusterIP: '10.112.0.24', endpoints: three, traffic: { algorithm: 'source-hash' } }),
    testRoute('shop/also', { clusterIP: '10.112.0.25', endpoints: three, traffic: { algorithm: 'source-hash' } }),
  )
  const { chains = [] } = (await node.table.list(never)) ?? {}
  expect(chains.filter((name) => /(?:pick|external)-\d/.test(name)).toSorted()).toEqual([
    'external-3/turn/shop/web/tcp/http',
    'nodeport-external-3/turn/shop/web/tcp/http',
    'nodeport-pick-3/turn/shop/web/tcp/http',
    'pick-1',
    'pick-3/source',
    'pick-3/turn/shop/api/tcp/',
    'pick-3/turn/shop/web/tcp/http',
  ])
})

test('the chain of turns goes with its Service', async () => {
  const node = await programmed(web('round-robin', { endpoints: endpoints(1, 1, 1) }))
  await node.sync([])
  const { chains = [] } = (await node.table.list(never)) ?? {}
  expect(chains.filter((name) => name.includes('turn/'))).toEqual([])
})

test('what the slots of an endpoint have counted is its count', async () => {
  const node = new ProxiedNode({ countsConnections: () => true })
  const route = web('random', { endpoints: endpoints(1, 2) })
  await node.sync([route], { full: true })
  for (const [slot, packets] of [3, 4, 5].entries())
    node.table.count(node.table.declarationOf('endpoints'), `10.112.0.21 . tcp . 80 . ${slot}`, packets)
  const counts = async () =>
    Object.fromEntries(
      Array.from((await node.backend.traffic(never)).get(route.key)?.endpoints ?? [], ([address, { connections }]) => [
        address,
        connections,
      ]),
    )
  expect(await counts()).toEqual({ '10.77.1.0:8080': 4, '10.77.1.1:8080': 8 })
  await node.sync([web('random', { endpoints: endpoints(3, 1) })])
  expect(await counts()).toEqual({ '10.77.1.0:8080': 4, '10.77.1.1:8080': 8 })
})

describe('maglev', () => {
  const many = (count: number) => endpoints(...Array.from({ length: count }, () => 1))
  const slotsIn = async ({ table }: ProxiedNode) => {
    const found = await table.elements(table.declarationOf('endpoints'), never)
    return Array.from({ length: maglevSlots }, (_, slot) => found.get(`10.112.0.21 . tcp . 80 . ${slot}`)?.value)
  }

  test('the map is the table that every node makes', async () => {
    const list = many(5)
    const node = await programmed(web('maglev', { endpoints: list, externalIPs: [], nodePort: undefined }))
    const wanted = Array.from(maglevTable(list), (index) => `${list[index]?.ip} . 8080`)
    expect(await slotsIn(node)).toEqual(wanted)
  })

  test('the end of one of 100 endpoints writes its own slots, and two in a hundred of the others', async () => {
    const list = many(100)
    const wishes = { externalIPs: [], nodePort: undefined }
    const node = await programmed(web('maglev', { ...wishes, endpoints: list }))
    const before = await slotsIn(node)
    node.table.takeOperations()
    await node.sync([web('maglev', { ...wishes, endpoints: list.filter((_, index) => index !== 42) })])
    const written = describeOperations(node.table.takeOperations()).filter((line) => line.startsWith('+ endpoints'))
    const after = await slotsIn(node)
    const lost = before.filter((value) => value === '10.77.2.42 . 8080').length
    const moved = after.filter((value, slot) => value !== before[slot]).length
    expect(written).toHaveLength(moved)
    expect(moved - lost).toBeLessThan(0.02 * maglevSlots)
  })
})
