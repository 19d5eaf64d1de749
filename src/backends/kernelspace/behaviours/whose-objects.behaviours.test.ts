import { describe, expect, test } from 'vitest'
import { hresult } from '../../../dataplane/hcn/hresult.ts'
import { pods, web } from '../testing/web-service.ts'
import { WindowsNode } from '../testing/windows-node.ts'

async function programmed(): Promise<WindowsNode> {
  const node = new WindowsNode()
  node.put(web(), pods(['10.61.2.7']))
  expect(await node.sync()).toEqual([])
  return node
}

/** HNS should not have two, and sometimes does after a restart. */
function putTwin({ hns }: WindowsNode): string {
  const [balancer] = hns.loadBalancers
  if (balancer === undefined) throw new Error('there is none')
  return hns.putLoadBalancer(balancer)
}

const frontend = 'balancer ipv4 6 10.112.0.20 80'
const cannot = { times: Infinity, hresult: hresult.hasReferences }

describe('whose objects', () => {
  test('a remote endpoint without an address is not ours, whatever changes', async () => {
    const node = new WindowsNode()
    const nameless = node.hns.putEndpoint(node.networkId, { ips: [], isRemote: true })
    node.put(web(), pods(['10.61.2.7']))
    expect(await node.sync()).toEqual([])
    await node.sync({ full: true })
    node.remove('Service', 'web')
    await node.sync()
    await node.sync({ full: true })
    expect(node.hns.endpoints.map(({ id }) => id)).toEqual([nameless])
  })

  test('a frontend stays ours when one of two load balancers with it goes, and the other serves', async () => {
    const node = await programmed()
    const [ours] = node.hns.loadBalancers
    putTwin(node)
    await node.sync({ full: true })
    expect(node.hns.loadBalancers.map(({ id }) => id)).toEqual([ours?.id])
    expect(node.owned.list()).toContain(frontend)
    node.remove('Service', 'web')
    node.restart()
    await node.sync()
    expect(node.balancers).toEqual([])
  })

  test('a frontend stays ours when one of two load balancers with it cannot be deleted', async () => {
    const node = await programmed()
    const twin = putTwin(node)
    const works = node.driver.fault({
      operation: 'removeLoadBalancer',
      where: ({ args: [id] }) => id === twin,
      ...cannot,
    })
    node.remove('Service', 'web')
    await node.sync({ full: true })
    expect(node.hns.loadBalancers.map(({ id }) => id)).toEqual([twin])
    expect(node.owned.list()).toContain(frontend)
    works()
    node.restart()
    await node.sync()
    expect(node.balancers).toEqual([])
    expect(node.owned.list()).toEqual(['network pod-net'])
  })

  test('one that could not be deleted stays ours through full syncs', async () => {
    const node = await programmed()
    const works = node.driver.fault({ operation: 'removeLoadBalancer', ...cannot })
    node.remove('Service', 'web')
    await node.sync()
    await node.sync({ full: true })
    expect(node.owned.list()).toContain(frontend)
    works()
    node.restart()
    await node.sync()
    expect([node.balancers, node.remoteIps]).toEqual([[], []])
  })

  test('an address stays ours when one of two remote endpoints with it goes, and the other is used', async () => {
    const node = await programmed()
    const used = node.endpointId('10.61.2.7')
    node.hns.putEndpoint(node.networkId, { ips: ['10.61.2.7'], isRemote: true })
    await node.sync({ full: true })
    expect(node.hns.endpoints.map(({ id }) => id)).toEqual([used])
    expect(node.owned.list()).toContain('endpoint 10.61.2.7')
    node.remove('Service', 'web')
    node.restart()
    await node.sync()
    expect(node.remoteIps).toEqual([])
  })

  test('endpoints in a network that had our objects before stay ours as long as it is there', async () => {
    const node = new WindowsNode()
    const old = node.hns.putNetwork({ name: 'old-net' })
    node.hns.putEndpoint(old, { ips: ['10.61.9.9'], isRemote: true })
    await node.owned.add(['network old-net', 'endpoint 10.61.9.9', 'source-vip 10.61.9.2'])
    await node.sync()
    expect(node.owned.list()).toEqual([
      'network old-net',
      'endpoint 10.61.9.9',
      'source-vip 10.61.9.2',
      'network pod-net',
    ])
    node.hns.removeNetwork(old)
    await node.sync({ full: true })
    expect(node.owned.list()).toEqual(['network pod-net'])
  })
})
