import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import type { LoadBalancerSettings } from '../../dataplane/hcn/hcn.ts'
import { hcnOverDriver } from '../../dataplane/hcn/hcn-over-driver.ts'
import { findLeftovers } from './leftovers.ts'
import { nodePort, pods, web } from './testing/web-service.ts'
import { WindowsNode } from './testing/windows-node.ts'

const balancer: Omit<LoadBalancerSettings, 'endpoints'> = {
  sourceVip: undefined,
  vip: '10.112.0.99',
  protocol: 6,
  internalPort: 8080,
  externalPort: 80,
  isSticky: false,
  mappingFlags: 0,
  flags: 0,
}
const never = new AbortController().signal

function doorsOf({ driver, owned }: WindowsNode) {
  return { hcn: hcnOverDriver(driver, { clock: new FakeClock(), timeLimitMs: 30_000 }), owned }
}

async function programmed(type: 'L2Bridge' | 'Overlay'): Promise<WindowsNode> {
  const node = new WindowsNode({ type })
  node.pod('10.61.1.5')
  node.put(web(nodePort), pods(['10.61.1.5', '10.61.2.7']))
  await node.sync()
  return node
}

test('what was made is found and removed, load balancers first; what others made stays', async () => {
  const node = await programmed('Overlay')
  const endpoints = [node.endpointId('10.61.1.5') ?? '']
  const foreign = node.hns.putLoadBalancer({ ...balancer, endpoints })
  node.hns.putEndpoint(node.networkId, { ips: ['10.61.2.99'], isRemote: true })
  const { removals, problems } = await findLeftovers(doorsOf(node), never)
  expect(problems).toEqual([])
  expect(removals.flatMap(({ leftovers }) => leftovers.map(({ what }) => what))).toEqual([
    'hns: load balancer ipv4 6 10.112.0.20 80',
    'hns: load balancer ipv4 6 any 31080',
    'hns: source-vip 10.61.1.2 in network pod-net',
    'hns: endpoint 10.112.0.20 in network pod-net',
    'hns: endpoint 10.61.2.7 in network pod-net',
  ])
  for (const removal of removals) await removal.remove(removal.leftovers, never)
  expect(node.hns.loadBalancers.map(({ id }) => id)).toEqual([foreign])
  expect(node.hns.endpoints.map(({ ips }) => ips[0])).toEqual(['10.61.1.5', '10.61.2.99'])
  expect((await findLeftovers(doorsOf(node), never)).removals).toEqual([])
})

test('a pod that got the address of a remote endpoint of ours stays', async () => {
  const node = await programmed('L2Bridge')
  node.pod('10.61.2.7')
  const { removals } = await findLeftovers(doorsOf(node), never)
  for (const removal of removals) await removal.remove(removal.leftovers, never)
  expect(node.hns.endpoints.map(({ ips, isRemote }) => [ips[0], isRemote])).toEqual([
    ['10.61.1.5', false],
    ['10.61.2.7', false],
  ])
})

test('a machine where nothing is written down is not asked', async () => {
  const node = new WindowsNode()
  expect((await findLeftovers(doorsOf(node), never)).removals).toEqual([])
  expect(node.calls()).toEqual([])
})
