import { describe, expect, test } from 'vitest'
import { hresult } from '../../../dataplane/hcn/hresult.ts'
import { externalLocal, nodePort, pods, web } from '../testing/web-service.ts'
import { WindowsNode } from '../testing/windows-node.ts'
import type { WindowsNodeOptions } from '../testing/windows-node.ts'

const server2025 = { hns: { profile: '2025' } } as const
const shop = { name: 'shop', clusterIP: '10.112.0.21' } as const

/** Two Services with the same backends. */
async function sharing(backends: readonly string[], options: WindowsNodeOptions = {}): Promise<WindowsNode> {
  const node = new WindowsNode(options)
  node.pod('10.61.1.5')
  node.put(web(), web(shop), pods(backends), pods(backends, shop))
  expect(await node.sync()).toEqual([])
  return node
}

describe('references and life cycle of endpoints', () => {
  test('41: two Services share an endpoint, and the last one to go takes it along', async () => {
    const node = await sharing(['10.61.2.7'])
    expect(node.remoteIps).toEqual(['10.61.2.7'])
    node.remove('Service', 'web')
    node.remove('EndpointSlice', 'web-1')
    await node.sync()
    expect(node.remoteIps).toEqual(['10.61.2.7'])
    node.remove('Service', 'shop')
    node.remove('EndpointSlice', 'shop-1')
    await node.sync()
    expect(node.remoteIps).toEqual([])
    expect(node.owned.list()).toEqual(['network pod-net'])
  })

  test('41: also when the second came to share it later', async () => {
    const node = new WindowsNode({ hns: { endpointInUse: 'degrades its load balancers' } })
    node.put(web(), pods(['10.61.2.7']))
    await node.sync()
    node.put(web(shop), pods(['10.61.2.7'], shop))
    await node.sync()
    node.remove('Service', 'web')
    await node.sync()
    expect(node.balancers).toEqual(['10.112.0.21:80/6 to 10.61.2.7 at 8080'])
    expect(node.remoteIps).toEqual(['10.61.2.7'])
  })

  test('41: what others deleted, and nobody wants any more, is struck out of what is ours', async () => {
    const node = await sharing(['10.61.2.7'])
    for (const { id } of node.hns.loadBalancers) node.hns.remove('LoadBalancer', id)
    node.hns.remove('Endpoint', node.endpointId('10.61.2.7') ?? '')
    for (const name of ['web', 'shop']) node.remove('Service', name)
    node.restart()
    await node.sync()
    expect(node.owned.list()).toEqual(['network pod-net'])
  })

  test('42: a Service that changes its node port leaves the shared endpoint alone', async () => {
    const node = await sharing(['10.61.2.7'])
    const id = node.endpointId('10.61.2.7')
    node.put(web(nodePort))
    await node.sync()
    node.put(web({ ...nodePort, ports: [{ ...nodePort.ports[0], nodePort: 31_081 }] }))
    await node.sync()
    expect(node.endpointId('10.61.2.7')).toBe(id)
    node.remove('Service', 'web')
    await node.sync()
    expect(node.endpointId('10.61.2.7')).toBe(id)
  })

  test('43: another backend means another load balancer where HNS cannot change one', async () => {
    const node = new WindowsNode({ type: 'Overlay' })
    node.put(web(), pods(['10.61.2.7']))
    await node.sync()
    const before = node.balancerId('10.112.0.20')
    node.put(pods(['10.61.2.8']))
    await node.sync()
    expect(node.remoteIps).toEqual(['10.112.0.20', '10.61.2.8'])
    expect(node.balancerId('10.112.0.20')).not.toBe(before)
  })

  test('43: where HNS can, the load balancer is changed in place', async () => {
    const node = new WindowsNode({ ...server2025, type: 'Overlay' })
    node.put(web(), pods(['10.61.2.7']))
    await node.sync()
    const before = node.balancerId('10.112.0.20')
    node.calls()
    node.put(pods(['10.61.2.8']))
    await node.sync()
    expect(node.writes()).toEqual(['createEndpoint', 'modifyLoadBalancer', 'removeEndpoint'])
    expect(node.balancerId('10.112.0.20')).toBe(before)
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.2.8 at 8080 from 10.61.1.2'])
  })

  test('44: an HNS that cannot change after all is not asked again', async () => {
    const node = await sharing(['10.61.2.7'], server2025)
    node.driver.fault({ operation: 'modifyLoadBalancer', times: Infinity, hresult: hresult.notImplemented })
    node.calls()
    node.put(pods(['10.61.2.8']))
    expect(await node.sync()).toEqual([])
    expect(node.writes()).toEqual(['createEndpoint', 'modifyLoadBalancer', 'removeLoadBalancer', 'createLoadBalancer'])
    node.put(pods(['10.61.2.9']))
    expect(await node.sync()).toEqual([])
    expect(node.writes()).toEqual(['createEndpoint', 'removeLoadBalancer', 'createLoadBalancer', 'removeEndpoint'])
  })

  test('45: a change that HNS refuses leaves the load balancer, and is tried again', async () => {
    const node = await sharing(['10.61.2.7'], server2025)
    node.driver.fault({ operation: 'modifyLoadBalancer', hresult: hresult.switchPortNotFound })
    node.put(pods(['10.61.2.7', '10.61.2.8']))
    const failed = await node.sync()
    expect(failed.map(({ key }) => key)).toEqual(['demo/web/TCP'])
    expect(failed[0]?.reason).toContain('0x803b0007')
    expect(node.balancers).toContain('10.112.0.20:80/6 to 10.61.2.7 at 8080')
    expect(await node.sync({ retry: failed.map(({ key }) => key) })).toEqual([])
    expect(node.balancers).toContain('10.112.0.20:80/6 to 10.61.2.7 10.61.2.8 at 8080')
  })

  test('46: an endpoint of the CNI is never deleted, whatever the slice says', async () => {
    const node = new WindowsNode()
    node.pod('10.61.2.7')
    node.put(web(), pods(['10.61.2.7']))
    await node.sync()
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.2.7 at 8080'])
    node.calls()
    node.remove('Service', 'web')
    node.remove('EndpointSlice', 'web-1')
    await node.sync()
    expect(node.writes()).toEqual(['removeLoadBalancer'])
  })

  test('47: when the pod turns out to be here, its own endpoint is used, and the remote one goes', async () => {
    const node = await sharing(['10.61.2.7'])
    const remote = node.endpointId('10.61.2.7')
    const local = node.pod('10.61.2.7')
    node.put(web(nodePort))
    await node.sync()
    expect(node.hns.loadBalancers.flatMap(({ endpoints }) => endpoints)).toEqual([local, local, local])
    expect(node.hns.endpoints.map(({ id }) => id)).not.toContain(remote)
    for (const name of ['web', 'shop']) node.remove('Service', name)
    await node.sync()
    expect(node.hns.endpoints.map(({ id }) => id)).toContain(local)
  })

  test('47: a remote endpoint that is not ours stays beside it', async () => {
    const node = new WindowsNode()
    const foreign = node.hns.putEndpoint(node.networkId, { ips: ['10.61.2.7'], isRemote: true })
    node.pod('10.61.2.7')
    node.put(web(), pods(['10.61.2.7']))
    await node.sync()
    expect(node.hns.loadBalancers[0]?.endpoints).toEqual([node.hns.endpoints[1]?.id])
    expect(node.hns.endpoints.map(({ id }) => id)).toContain(foreign)
  })

  test('48: an endpoint has two addresses at most, and may have none', async () => {
    const node = new WindowsNode()
    node.hns.putEndpoint(node.networkId, { ips: [] })
    const id = node.pod('10.61.1.5', '10.61.1.6', '10.61.1.7')
    node.put(web(), pods(['10.61.1.5', '10.61.1.6', '10.61.1.7']))
    await node.sync()
    expect(node.hns.loadBalancers.map(({ endpoints }) => endpoints)).toEqual([[id]])
    node.put(pods(['10.61.1.7']))
    await node.sync()
    expect(node.balancers).toEqual([])
  })

  test('48: one that gets its address later is found by the next full sync', async () => {
    const node = new WindowsNode()
    const id = node.hns.putEndpoint(node.networkId, { ips: [] })
    node.put(web(), pods(['10.61.1.5']))
    await node.sync()
    node.hns.putEndpoint(node.networkId, { id, ips: ['10.61.1.5'] })
    await node.sync({ full: true })
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.1.5 at 8080'])
  })

  test('49 (kube-proxy deletes endpoints that the old ones name, and needs one sync more): old load balancers stay until they can be deleted', async () => {
    const [a, b, c, d] = ['10.61.1.5', '10.61.2.2', '10.61.2.3', '10.61.2.4'] as const
    const node = await sharing([a, b, c, d], { hns: { endpointInUse: 'degrades its load balancers' } })
    const old = node.hns.loadBalancers.map(({ id }) => id)
    const shared = node.endpointId(b)
    const works = node.driver.fault({
      operation: 'removeLoadBalancer',
      times: Infinity,
      hresult: hresult.hasReferences,
    })
    node.put(pods([a, b]), pods([a, b], shop))
    const failed = await node.sync()
    expect(failed).toHaveLength(2)
    expect(node.hns.loadBalancers.map(({ id }) => id)).toEqual(old)
    expect(node.balancers.filter((line) => line.includes('degraded'))).toEqual([])
    expect(node.remoteIps).toEqual([b, c, d])
    works()
    expect(await node.sync({ retry: failed.map(({ key }) => key) })).toEqual([])
    expect(node.balancers.toSorted()).toEqual([
      `10.112.0.20:80/6 to ${a} ${b} at 8080`,
      `10.112.0.21:80/6 to ${a} ${b} at 8080`,
    ])
    expect(node.remoteIps).toEqual([b])
    expect(node.endpointId(b)).toBe(shared)
  })

  test('50: of 25 load balancers that could not be deleted, a sync tries 20 again, and the next the rest', async () => {
    const node = new WindowsNode()
    const names = Array.from({ length: 25 }, (_, index) => `web-${index}`)
    for (const [index, name] of names.entries())
      node.put(web({ name, clusterIP: `10.112.1.${index}` }), pods(['10.61.2.7'], { name }))
    await node.sync()
    const works = node.driver.fault({
      operation: 'removeLoadBalancer',
      times: Infinity,
      hresult: hresult.hasReferences,
    })
    for (const name of names) node.remove('Service', name)
    await node.sync()
    expect(node.balancers).toHaveLength(25)
    works()
    node.calls()
    await node.sync()
    expect(node.writes()).toEqual(Array.from({ length: 20 }, () => 'removeLoadBalancer'))
    await node.sync()
    expect(node.writes()).toEqual([...Array.from({ length: 5 }, () => 'removeLoadBalancer'), 'removeEndpoint'])
    await node.sync()
    expect(node.calls()).toEqual([])
  })

  test('50: a restart does not forget them', async () => {
    const node = await sharing(['10.61.2.7'])
    const works = node.driver.fault({
      operation: 'removeLoadBalancer',
      times: Infinity,
      hresult: hresult.hasReferences,
    })
    node.remove('Service', 'web')
    await node.sync()
    works()
    node.restart()
    await node.sync()
    expect(node.balancers).toEqual(['10.112.0.21:80/6 to 10.61.2.7 at 8080'])
  })

  test('51: a deletion that works at the second attempt is done', async () => {
    const node = await sharing(['10.61.2.7'])
    node.driver.fault({ operation: 'removeLoadBalancer', hresult: hresult.hasReferences })
    node.calls()
    node.remove('Service', 'web')
    await node.sync()
    expect(node.writes()).toEqual(['removeLoadBalancer', 'removeLoadBalancer'])
    expect(node.balancers).toEqual(['10.112.0.21:80/6 to 10.61.2.7 at 8080'])
    await node.sync()
    expect(node.writes()).toEqual([])
  })

  test('52: a Service that wishes so has all its load balancers deleted before one is made', async () => {
    const node = new WindowsNode(server2025)
    node.put(web({ ...nodePort, annotations: { winProxyOptimization: 'Disabled' } }), pods(['10.61.2.7']))
    await node.sync()
    node.calls()
    node.put(pods(['10.61.2.7', '10.61.2.8']))
    await node.sync()
    expect(node.writes()).toEqual([
      'createEndpoint',
      'removeLoadBalancer',
      'removeLoadBalancer',
      'createLoadBalancer',
      'createLoadBalancer',
    ])
    await node.sync({ full: true })
    expect(node.writes()).toEqual([])
  })

  test('52: also those that would not change', async () => {
    const node = new WindowsNode(server2025)
    node.pod('10.61.1.5')
    const annotations = { winProxyOptimization: 'disabled' }
    node.put(web({ ...nodePort, ...externalLocal, annotations }), pods(['10.61.1.5']))
    await node.sync()
    const before = node.hns.loadBalancers.map(({ id }) => id)
    node.put(pods(['10.61.1.5', '10.61.2.8']))
    expect(await node.sync()).toEqual([])
    expect(node.balancers).toEqual([
      '10.112.0.20:80/6 to 10.61.1.5 10.61.2.8 at 8080',
      '*:31080/6 to 10.61.1.5 at 8080 dsr localRoutedVip vipExternalIp',
    ])
    for (const { id } of node.hns.loadBalancers) expect(before).not.toContain(id)
  })

  test('a degraded load balancer is made anew, also where HNS can change in place', async () => {
    const node = new WindowsNode(server2025)
    node.put(web(), pods(['10.61.2.7']))
    await node.sync()
    node.hns.changeLoadBalancer(node.balancerId('10.112.0.20') ?? '', { isDegraded: true })
    node.calls()
    expect(await node.sync({ full: true })).toEqual([])
    expect(node.writes()).toEqual(['removeLoadBalancer', 'createLoadBalancer'])
  })

  test('50: of 25 endpoints that could not be deleted, too', async () => {
    const node = new WindowsNode()
    node.put(web(), pods(Array.from({ length: 25 }, (_, index) => `10.61.2.${index + 1}`)))
    await node.sync()
    const works = node.driver.fault({ operation: 'removeEndpoint', times: Infinity, hresult: hresult.hasReferences })
    node.remove('Service', 'web')
    await node.sync()
    expect(node.remoteIps).toHaveLength(25)
    works()
    node.calls()
    for (const count of [20, 5]) {
      await node.sync()
      expect(node.writes()).toEqual(Array.from({ length: count }, () => 'removeEndpoint'))
    }
    await node.sync()
    expect(node.calls()).toEqual([])
  })

  test('53: without backends there are no load balancers, and nothing is written about it again', async () => {
    const node = await sharing(['10.61.2.7'])
    node.put(pods([]))
    await node.sync()
    expect(node.balancers).toEqual(['10.112.0.21:80/6 to 10.61.2.7 at 8080'])
    node.calls()
    await node.sync({ full: true })
    await node.sync()
    expect(node.writes()).toEqual([])
  })

  test('what a Service has no more goes after what it has instead works', async () => {
    const node = new WindowsNode()
    node.put(web(nodePort), pods(['10.61.2.7']))
    await node.sync()
    node.calls()
    node.put(web({ ...nodePort, ports: [{ ...nodePort.ports[0], nodePort: 31_081 }] }))
    await node.sync()
    expect(node.writes()).toEqual(['createLoadBalancer', 'removeLoadBalancer'])
  })

  test('Q3 (kube-proxy reuses it, and deletes it in the same sync): one that could not be deleted is used when it is wanted again', async () => {
    const node = await sharing(['10.61.2.7'])
    const works = node.driver.fault({
      operation: 'removeLoadBalancer',
      times: Infinity,
      hresult: hresult.hasReferences,
    })
    node.remove('Service', 'web')
    await node.sync()
    works()
    node.calls()
    node.put(web())
    expect(await node.sync()).toEqual([])
    expect(node.writes()).toEqual([])
    expect(node.balancers.toSorted()).toEqual([
      '10.112.0.20:80/6 to 10.61.2.7 at 8080',
      '10.112.0.21:80/6 to 10.61.2.7 at 8080',
    ])
    await node.sync({ full: true })
    expect(node.balancers).toHaveLength(2)
  })

  test('Q4 (kube-proxy takes a deleted one for one that is there): a Service may take over the address of another', async () => {
    const node = await sharing(['10.61.2.7'])
    node.remove('Service', 'web')
    node.put(web({ name: 'heir', clusterIP: '10.112.0.20' }), pods(['10.61.2.7'], { name: 'heir' }))
    expect(await node.sync()).toEqual([])
    expect(node.balancers).toContain('10.112.0.20:80/6 to 10.61.2.7 at 8080')
    await node.sync({ full: true })
    expect(node.balancers).toContain('10.112.0.20:80/6 to 10.61.2.7 at 8080')
  })
})
