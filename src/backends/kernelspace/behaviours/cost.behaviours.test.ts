import { describe, expect, test } from 'vitest'
import { nextTurn } from '../../../dataplane/next-turn.ts'
import { balanced, nodePort, pods, web } from '../testing/web-service.ts'
import { WindowsNode } from '../testing/windows-node.ts'

function clusterIPOf(index: number): string {
  return `10.112.${Math.floor(index / 200)}.${index % 200}`
}

/** Each with endpoints of its own. */
function services(count: number, endpoints: number) {
  return Array.from({ length: count }, (_, index) => {
    const name = `web-${index}`
    const ips = Array.from(
      { length: endpoints },
      (_pod, pod) => `10.62.${Math.floor(index / 50)}.${(index % 50) * 5 + pod}`,
    )
    return { name, service: web({ name, clusterIP: clusterIPOf(index) }), slice: pods(ips, { name }), ips }
  })
}

async function nodeWith(count: number, endpoints: number, profile: '2022' | '2025'): Promise<WindowsNode> {
  const node = new WindowsNode({ hns: { profile } })
  for (const { service, slice } of services(count, endpoints)) node.put(service, slice)
  expect(await node.sync()).toEqual([])
  node.calls()
  return node
}

describe('cost', () => {
  test('75: with 500 load balancers and 800 endpoints, a sync when nothing has changed writes nothing and reads no object', async () => {
    const node = new WindowsNode()
    for (let pod = 0; pod < 300; pod++) node.pod(`10.61.1.${pod % 150}`, `2001:db8:61::1:${pod.toString(16)}`)
    for (const { service, slice } of services(500, 1)) node.put(service, slice)
    await node.sync()
    expect([node.hns.loadBalancers.length, node.hns.endpoints.length]).toEqual([500, 800])
    node.calls()
    await node.sync()
    expect(node.calls()).toEqual([])
    await node.sync({ full: true })
    expect(node.calls()).toEqual([
      'enumerateNetworks',
      'queryNetwork',
      'enumerateEndpoints',
      'enumerateLoadBalancers',
      'hnsCall',
    ])
  })

  test('75: between the steps of a full sync, whoever asks for health gets an answer', async () => {
    const node = await nodeWith(500, 1, '2022')
    expect(await turnsDuring(() => node.sync({ full: true }))).toBeGreaterThanOrEqual(3)
  })

  test.each([
    ['2022', ['enumerateEndpoints', 'createEndpoint', 'removeLoadBalancer', 'createLoadBalancer', 'removeEndpoint']],
    ['2025', ['enumerateEndpoints', 'createEndpoint', 'modifyLoadBalancer', 'removeEndpoint']],
  ] as const)(
    'one endpoint of 1,000 Services with 4 each costs Server %s a handful of calls',
    async (profile, calls) => {
      const node = await nodeWith(1_000, 4, profile)
      node.put(pods(['10.62.0.0', '10.62.0.1', '10.62.0.2', '10.63.0.1'], { name: 'web-0' }))
      await node.sync()
      expect(node.calls()).toEqual(calls)
    },
  )

  test('the first Services do not wait for the endpoints of all others', async () => {
    const node = new WindowsNode()
    for (const { service, slice } of services(3, 1)) node.put(service, slice)
    await node.sync()
    const [one, two] = ['createEndpoint', 'createLoadBalancer'] as const
    expect(node.writes()).toEqual([one, two, one, two, one, two])
  })

  test('a Service that comes with known endpoints costs two calls', async () => {
    const node = await nodeWith(100, 1, '2022')
    node.put(web({ name: 'new', clusterIP: '10.113.0.1' }), pods(['10.62.0.0'], { name: 'new' }))
    await node.sync()
    expect(node.calls()).toEqual(['enumerateEndpoints', 'createLoadBalancer'])
  })

  test('a new pod of the CNI is read once, whoever asks', async () => {
    const node = await nodeWith(10, 1, '2022')
    node.pod('10.61.1.50')
    const stop = new AbortController()
    const watching = node.watch(() => {}, stop.signal)
    for (let look = 0; look < 5; look++) await node.clock.advance(5_000)
    node.put(web({ ...nodePort, name: 'web-0', clusterIP: clusterIPOf(0) }))
    await node.sync()
    await node.clock.advance(5_000)
    stop.abort()
    await watching
    expect(node.calls().filter((operation) => operation === 'queryEndpoint')).toHaveLength(1)
  })

  test('one load balancer that somebody deleted, and one that somebody changed, cost no reading of the others', async () => {
    const node = await nodeWith(300, 1, '2025')
    node.hns.remove('LoadBalancer', node.balancerId(clusterIPOf(7)) ?? '')
    node.hns.changeLoadBalancer(node.balancerId(clusterIPOf(8)) ?? '', { internalPort: 9 })
    expect(await node.sync({ full: true })).toEqual([])
    expect(node.calls()).toEqual([
      'enumerateNetworks',
      'queryNetwork',
      'enumerateEndpoints',
      'enumerateLoadBalancers',
      'hnsCall',
      'queryLoadBalancer',
      'modifyLoadBalancer',
      'createLoadBalancer',
    ])
  })

  test('after a failure nothing is read again', async () => {
    const node = await nodeWith(50, 2, '2022')
    node.driver.fault({ operation: 'createLoadBalancer', hresult: 0x800706ba })
    node.put(web({ ...balanced, name: 'new', clusterIP: '10.113.0.1' }), pods(['10.62.0.0'], { name: 'new' }))
    await expect(node.sync()).rejects.toMatchObject({ reason: 'unavailable' })
    node.calls()
    expect(await node.sync()).toEqual([])
    expect(node.calls().filter((operation) => /^query(Endpoint|LoadBalancer)$/.test(operation))).toEqual([])
  })
})

/** How often something else could run while the work was done. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  const done = new AbortController()
  let turns = 0
  const others = (async () => {
    for (; !done.signal.aborted; turns++) await nextTurn()
  })()
  await work()
  done.abort()
  await others
  return turns
}
