import { describe, expect, test } from 'vitest'
import { balanced, externalLocal, internalLocal, nodePort, pods, web } from '../testing/web-service.ts'
import { WindowsNode } from '../testing/windows-node.ts'
import type { WindowsNodeOptions } from '../testing/windows-node.ts'

/** A node with two pods of its own, and the host's endpoint. */
function nodeWithPods(options: WindowsNodeOptions = {}): WindowsNode {
  const node = new WindowsNode(options)
  node.pod('10.61.1.5')
  node.pod('10.61.1.6')
  return node
}

const health = { settings: { forwardHealthCheckVip: true } }

function withRoot(node: WindowsNode): WindowsNode {
  node.hns.putEndpoint(node.networkId, { ips: ['10.61.1.1'], name: 'cbr0' })
  return node
}

describe('mapping and traffic policies', () => {
  test.each([
    [false, '10.112.0.20:80/6 to 10.61.2.7 at 8080 from 10.61.1.2'],
    [true, '10.112.0.20:80/6 to 10.61.2.7 at 8080 dsr from 10.61.1.2'],
  ])('24: enableDSR=%s is for the cluster IP, and not for a node port with policy Cluster', async (enableDsr, line) => {
    const node = new WindowsNode({ type: 'Overlay', settings: { enableDsr } })
    node.put(web(nodePort), pods(['10.61.2.7']))
    await node.sync()
    expect(node.balancers).toEqual([line, '*:31080/6 to 10.61.2.7 at 8080 localRoutedVip vipExternalIp from 10.61.1.2'])
  })

  test('25: policy Local means DSR outside, from the first backend on', async () => {
    const node = nodeWithPods()
    node.put(web({ ...nodePort, ...externalLocal }), pods([]))
    await node.sync()
    expect(node.balancers).toEqual([])
    node.put(pods(['10.61.1.5']))
    await node.sync()
    expect(node.balancers).toEqual([
      '10.112.0.20:80/6 to 10.61.1.5 at 8080',
      '*:31080/6 to 10.61.1.5 at 8080 dsr localRoutedVip vipExternalIp',
    ])
    node.put(web(nodePort))
    await node.sync()
    expect(node.balancers[1]).toBe('*:31080/6 to 10.61.1.5 at 8080 localRoutedVip vipExternalIp')
  })

  test('26: with policy Local and a backend elsewhere, only the cluster IP is served', async () => {
    const node = new WindowsNode()
    node.put(web({ ...balanced, ...externalLocal, ingress: ['203.0.113.41'] }), pods(['10.61.2.7']))
    expect(await node.sync()).toEqual([])
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.2.7 at 8080'])
  })

  test('27: with a backend here there are four load balancers, in the order of kube-proxy', async () => {
    const node = withRoot(new WindowsNode(health))
    node.pod('10.61.1.9')
    node.put(web({ ...balanced, ...externalLocal, healthCheckNodePort: 32_100 }), pods(['10.61.1.9']))
    await node.sync()
    expect(node.balancers).toEqual([
      '10.112.0.20:80/6 to 10.61.1.9 at 8080',
      '*:31080/6 to 10.61.1.9 at 8080 dsr localRoutedVip vipExternalIp',
      '203.0.113.40:80/6 to 10.61.1.9 at 8080 dsr vipExternalIp',
      '203.0.113.40:32100/6 to cbr0 at 32100',
    ])
  })

  test('28: an HNS without DSR treats policy Local like Cluster', async () => {
    const node = nodeWithPods({ hns: { version: { major: 10, minor: 1 } } })
    node.put(web({ ...balanced, ...externalLocal }), pods(['10.61.1.5', '10.61.2.7']))
    await node.sync()
    expect(node.balancers).toEqual([
      '10.112.0.20:80/6 to 10.61.1.5 10.61.2.7 at 8080',
      '*:31080/6 to 10.61.1.5 10.61.2.7 at 8080 localRoutedVip vipExternalIp',
      '203.0.113.40:80/6 to 10.61.1.5 10.61.2.7 at 8080 vipExternalIp',
    ])
  })

  test('28: nor does it preserve a destination', async () => {
    const node = nodeWithPods({ hns: { version: { major: 10, minor: 1 } } })
    node.put(web({ ...balanced, annotations: { 'preserve-destination': 'true' } }), pods(['10.61.1.5', '10.61.2.7']))
    await node.sync()
    expect(node.balancers[2]).toBe('203.0.113.40:80/6 to 10.61.1.5 10.61.2.7 at 8080 vipExternalIp')
  })

  test('29: inside with policy Local, another backend here makes another load balancer, one elsewhere does not', async () => {
    const node = nodeWithPods()
    node.put(web(internalLocal), pods(['10.61.1.5']))
    await node.sync()
    const first = node.balancerId('10.112.0.20')
    node.put(pods(['10.61.1.5', '10.61.1.6']))
    await node.sync()
    const second = node.balancerId('10.112.0.20')
    expect(second).not.toBe(first)
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.1.5 10.61.1.6 at 8080'])
    node.calls()
    node.put(pods(['10.61.1.5', '10.61.1.6', '10.61.2.7']))
    await node.sync()
    expect(node.writes()).toEqual([])
    expect(node.balancerId('10.112.0.20')).toBe(second)
  })

  test('30: with policy Local inside and outside, nothing is made for a backend elsewhere', async () => {
    const node = new WindowsNode()
    node.put(web({ ...balanced, ...externalLocal, ...internalLocal }), pods(['10.61.2.7']))
    await node.sync()
    expect(node.writes()).toEqual([])
  })

  test('31: a backend whose node the slice does not tell is here if HNS says so', async () => {
    const node = nodeWithPods()
    node.put(web({ ...nodePort, ...externalLocal, ...internalLocal }), pods(['10.61.1.5 somewhere', '10.61.2.7']))
    await node.sync()
    expect(node.balancers).toEqual([
      '10.112.0.20:80/6 to 10.61.1.5 at 8080',
      '*:31080/6 to 10.61.1.5 at 8080 dsr localRoutedVip vipExternalIp',
    ])
    expect(node.remoteIps).toEqual([])
  })

  test('32: a pod of this node without an endpoint is skipped until the CNI has made one', async () => {
    const node = new WindowsNode()
    node.put(web(), pods(['10.61.1.7', '10.61.2.7']))
    expect(await node.sync()).toEqual([])
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.2.7 at 8080'])
    expect(node.remoteIps).toEqual(['10.61.2.7'])
    node.pod('10.61.1.7')
    node.put(web({ name: 'other', clusterIP: '10.112.0.21' }))
    await node.sync()
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.1.7 10.61.2.7 at 8080'])
  })

  test('33: of two external IPs each family serves its own', async () => {
    const node = new WindowsNode({ families: ['ipv4', 'ipv6'] })
    node.pod('10.61.1.5', '2001:db8:61::1:5')
    const dual = { clusterIPs: ['10.112.0.20', '2001:db8:112::20'], ipFamilies: ['IPv4', 'IPv6'] }
    const externalIPs = ['198.51.100.9', '2001:db8:98::9']
    node.put(web({ ...dual, externalIPs }), pods(['10.61.1.5']), { ...pods(['2001:db8:61::1:5']), name: 'web-6' })
    await node.sync()
    expect(node.balancers).toEqual([
      '10.112.0.20:80/6 to 10.61.1.5 at 8080',
      '198.51.100.9:80/6 to 10.61.1.5 at 8080 vipExternalIp',
      '[2001:db8:112::20]:80/6 to 10.61.1.5 at 8080 ipv6',
      '[2001:db8:98::9]:80/6 to 10.61.1.5 at 8080 ipv6 vipExternalIp',
    ])
  })

  test('34: an address whose mode is Proxy is not served', async () => {
    const node = new WindowsNode()
    node.put(web({ ...balanced, ingress: [{ ip: '203.0.113.40', ipMode: 'Proxy' }] }), pods(['10.61.2.7']))
    await node.sync()
    expect(node.balancers.map((line) => line.split(' ')[0])).toEqual(['10.112.0.20:80/6', '*:31080/6'])
  })

  test('source ranges mean nothing to HNS, which is said once', async () => {
    const node = new WindowsNode()
    node.put(web({ ...balanced, loadBalancerSourceRanges: ['192.0.2.0/24'] }), pods(['10.61.2.7']))
    await node.sync()
    await node.sync({ full: true })
    expect(node.balancers).toContain('203.0.113.40:80/6 to 10.61.2.7 at 8080 vipExternalIp')
    expect(node.logged.at('warn').flatMap(({ fields }) => fields['limits'])).toEqual([
      'it has no source ranges: everybody may use the load balancer',
    ])
  })
})
