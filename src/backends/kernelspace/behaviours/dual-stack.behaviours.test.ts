import { describe, expect, test } from 'vitest'
import { hresult } from '../../../dataplane/hcn/hresult.ts'
import { contentOf } from '../../../dataplane/hcn/load-balancer-content.ts'
import { balanced, externalLocal, pods, web } from '../testing/web-service.ts'
import { WindowsNode } from '../testing/windows-node.ts'
import type { WindowsNodeOptions } from '../testing/windows-node.ts'

const dual = {
  ...balanced,
  clusterIPs: ['10.112.0.20', '2001:db8:112::20'],
  ipFamilies: ['IPv4', 'IPv6'],
  ingress: ['203.0.113.40', '2001:db8:203::40'],
}
const families = ['ipv4', 'ipv6'] as const

function dualNode(options: WindowsNodeOptions = {}): WindowsNode {
  const settings = { enableDsr: true, forwardHealthCheckVip: true, ...options.settings }
  const node = new WindowsNode({ ...options, families, settings })
  node.hns.putEndpoint(node.networkId, { ips: ['10.61.1.1', '2001:db8:61::1:1'], name: 'cbr0' })
  return node
}

function bothPods(ipv4: string, ipv6: string) {
  return [pods([ipv4]), { ...pods([ipv6]), name: 'web-6' }] as const
}

describe('dual stack', () => {
  test('65: when the network is another one, each family starts anew, and leaves the other alone', async () => {
    const node = dualNode()
    node.put(web({ ...dual, externalTrafficPolicy: 'Cluster' }), ...bothPods('10.61.2.7', '2001:db8:61::2:7'))
    expect(await node.sync()).toEqual([])
    const all = node.balancers.toSorted()
    const inFamily = (lines: readonly string[]) => lines.map((line) => (line.includes('ipv6') ? 'ipv6' : 'ipv4'))
    expect(new Set(inFamily(all))).toEqual(new Set(['ipv4', 'ipv6']))
    node.hns.changeNetwork(node.networkId, { name: 'old-net' })
    const network = node.putNetwork()
    node.hns.putEndpoint(network, { ips: ['10.61.1.1', '2001:db8:61::1:1'], name: 'cbr0' })
    await expect(node.sync({ full: true })).rejects.toThrow('was replaced')
    expect(new Set(inFamily(node.balancers))).toEqual(new Set(['ipv6']))
    expect(node.remoteIps).toEqual(['2001:db8:61::2:7'])
    // IPv4 is back, and it is the turn of IPv6.
    await expect(node.sync({ full: true })).rejects.toThrow('was replaced')
    expect(new Set(inFamily(node.balancers))).toEqual(new Set(['ipv4']))
    expect(await node.sync()).toEqual([])
    expect(node.balancers.toSorted()).toEqual(all)
    expect(new Set(node.hns.endpoints.flatMap((it) => (it.isRemote ? [it.networkId] : [])))).toEqual(new Set([network]))
  })

  test('59 (Q5; kube-proxy forgets the family of the last one): policy Local has eight load balancers', async () => {
    const node = dualNode()
    node.pod('10.61.1.9', '2001:db8:61::1:9')
    node.put(
      web({ ...dual, ...externalLocal, healthCheckNodePort: 32_100 }),
      ...bothPods('10.61.1.9', '2001:db8:61::1:9'),
    )
    expect(await node.sync()).toEqual([])
    expect(node.balancers).toEqual([
      '10.112.0.20:80/6 to 10.61.1.9 at 8080 dsr',
      '*:31080/6 to 10.61.1.9 at 8080 dsr localRoutedVip vipExternalIp',
      '203.0.113.40:80/6 to 10.61.1.9 at 8080 dsr vipExternalIp',
      '203.0.113.40:32100/6 to cbr0 at 32100',
      '[2001:db8:112::20]:80/6 to 10.61.1.9 at 8080 dsr ipv6',
      '*:31080/6 to 10.61.1.9 at 8080 dsr ipv6 localRoutedVip vipExternalIp',
      '[2001:db8:203::40]:80/6 to 10.61.1.9 at 8080 dsr ipv6 vipExternalIp',
      '[2001:db8:203::40]:32100/6 to cbr0 at 32100 ipv6',
    ])
    const [v4, v6] = node.hns.loadBalancers.filter(({ vip }) => vip === undefined)
    expect(v4?.endpoints).toEqual(v6?.endpoints)
    expect(v4 && contentOf(v4)).not.toBe(v6 && contentOf(v6))
    node.calls()
    await node.sync({ full: true })
    node.restart()
    await node.sync()
    expect(node.writes()).toEqual([])
  })

  test('59: the health check that kube-proxy left without its family is replaced', async () => {
    const node = dualNode({ hns: { profile: '2025' } })
    node.put(web(dual), ...bothPods('10.61.2.7', '2001:db8:61::2:7'))
    node.hns.putLoadBalancer({
      endpoints: [node.endpointId('10.61.1.1') ?? ''],
      vip: '2001:db8:203::40',
      sourceVip: undefined,
      protocol: 6,
      internalPort: 10_256,
      externalPort: 10_256,
      isSticky: false,
      mappingFlags: 0,
      flags: 0,
    })
    expect(await node.sync()).toEqual([])
    expect(node.balancers.filter((line) => line.startsWith('[2001:db8:203::40]:10256'))).toEqual([
      '[2001:db8:203::40]:10256/6 to cbr0 at 10256 ipv6',
    ])
  })

  test('60: with policy Cluster each load balancer has the backends of its family', async () => {
    const node = dualNode({ settings: { enableDsr: false, forwardHealthCheckVip: false } })
    node.pod('10.61.1.9', '2001:db8:61::1:9')
    node.put(web(dual), pods(['10.61.1.9', '10.61.2.7']), {
      ...pods(['2001:db8:61::1:9', '2001:db8:61::2:7']),
      name: 'web-6',
    })
    await node.sync()
    expect(node.hns.loadBalancers.map(({ endpoints, flags }) => [endpoints.length, flags])).toEqual([
      [2, 0],
      [2, 0],
      [2, 0],
      [2, 2],
      [2, 2],
      [2, 2],
    ])
    expect(node.remoteIps).toEqual(['10.61.2.7', '2001:db8:61::2:7'])
    expect(node.hns.endpoints.at(-1)?.mac).toBe('02-11-07-00-02-00')
  })

  test('61: a family that learns that HNS cannot change says nothing about the other', async () => {
    const node = dualNode({ hns: { profile: '2025' } })
    node.put(web(dual), ...bothPods('10.61.2.7', '2001:db8:61::2:7'))
    await node.sync()
    node.driver.fault({ operation: 'modifyLoadBalancer', hresult: hresult.notImplemented })
    node.put(...bothPods('10.61.2.8', '2001:db8:61::2:8'))
    node.calls()
    expect(await node.sync()).toEqual([])
    const again = ['removeLoadBalancer', 'createLoadBalancer']
    const change = 'modifyLoadBalancer'
    const ipv4 = ['createEndpoint', change, ...again, ...again, ...again, 'removeEndpoint']
    const ipv6 = ['createEndpoint', change, change, change, 'removeEndpoint']
    expect(node.writes()).toEqual([...ipv4, ...ipv6])
  })

  test('65: when the network is another one, each family tears down its own', async () => {
    const hns = { endpointInUse: 'degrades its load balancers' } as const
    const node = dualNode({ hns, settings: { forwardHealthCheckVip: false } })
    node.put(web(dual), ...bothPods('10.61.2.7', '2001:db8:61::2:7'))
    expect(await node.sync()).toEqual([])
    // Now each knows the endpoints of the other.
    await node.sync({ full: true })
    const ofIpv6 = node.balancers.filter((line) => line.includes('2001:db8'))
    node.hns.changeNetwork(node.networkId, { name: 'old-net' })
    node.putNetwork()
    // That of IPv4 comes first.
    await expect(node.sync({ full: true })).rejects.toThrow('was replaced')
    expect(node.remoteIps).toEqual(['2001:db8:61::2:7'])
    expect(node.balancers).toEqual(ofIpv6)
    expect(ofIpv6).toHaveLength(3)
  })

  test('a family leaves alone what belongs to the other one', async () => {
    const node = dualNode({ hns: { endpointInUse: 'degrades its load balancers' } })
    node.put(web(dual), ...bothPods('10.61.2.7', '2001:db8:61::2:7'))
    await node.sync()
    node.calls()
    await node.sync({ full: true })
    expect(node.writes()).toEqual([])
    node.remove('EndpointSlice', 'web-6')
    await node.sync()
    await node.sync({ full: true })
    expect(node.balancers.map((line) => line.split(' ')[0])).toEqual([
      '10.112.0.20:80/6',
      '*:31080/6',
      '203.0.113.40:80/6',
      '203.0.113.40:10256/6',
    ])
    expect(node.remoteIps).toEqual(['10.61.2.7'])
  })
})
