import { describe, expect, test } from 'vitest'
import { slice } from '../../../core/testing/objects.ts'
import { hresult } from '../../../dataplane/hcn/hresult.ts'
import { balanced, externalLocal, nodePort, pods, web } from '../testing/web-service.ts'
import { WindowsNode } from '../testing/windows-node.ts'
import type { WindowsNodeOptions } from '../testing/windows-node.ts'

const forwarding = { settings: { forwardHealthCheckVip: true } }

function withRoot(node: WindowsNode): WindowsNode {
  node.hns.putEndpoint(node.networkId, { ips: ['10.61.1.1'], name: 'cbr0' })
  return node
}

async function programmed(options: WindowsNodeOptions = {}): Promise<WindowsNode> {
  const node = new WindowsNode(options)
  node.put(web(), pods(['10.61.2.7']))
  expect(await node.sync()).toEqual([])
  node.calls()
  return node
}

const clusterIP = {
  vip: '10.112.0.20',
  sourceVip: undefined,
  protocol: 6,
  internalPort: 8080,
  externalPort: 80,
  isSticky: false,
  mappingFlags: 0,
  flags: 0,
}

/** Somebody else's load balancer, to an endpoint of somebody else. */
function putForeign({ hns }: WindowsNode): string {
  const endpoints = [hns.putEndpoint(hns.putNetwork({ name: 'their-net' }), { ips: ['192.0.2.7'] })]
  return hns.putLoadBalancer({ ...clusterIP, vip: '10.112.0.99', endpoints })
}

describe('health checks', () => {
  test('62: the port of the health check leads to the host, else that of the node, and nowhere without its endpoint', async () => {
    const own = withRoot(new WindowsNode(forwarding))
    own.pod('10.61.1.5')
    own.put(web({ ...balanced, ...externalLocal, healthCheckNodePort: 32_100 }), pods(['10.61.1.5']))
    await own.sync()
    expect(own.balancers).toContain('203.0.113.40:32100/6 to cbr0 at 32100')

    const general = withRoot(new WindowsNode(forwarding))
    general.put(web(balanced), pods(['10.61.2.7']))
    await general.sync()
    expect(general.balancers).toContain('203.0.113.40:10256/6 to cbr0 at 10256')

    const rootless = new WindowsNode(forwarding)
    rootless.put(web(balanced), pods(['10.61.2.7']))
    expect(await rootless.sync()).toEqual([])
    expect(rootless.balancers).toHaveLength(3)
    // It may come later.
    withRoot(rootless)
    rootless.put(pods(['10.61.2.8']))
    await rootless.sync()
    expect(rootless.balancers).toContain('203.0.113.40:10256/6 to cbr0 at 10256')
  })

  test('a host whose endpoint is replaced is found again by the next change', async () => {
    const node = withRoot(new WindowsNode(forwarding))
    node.put(web(balanced), pods(['10.61.2.7']))
    await node.sync()
    node.hns.remove('Endpoint', node.endpointId('10.61.1.1') ?? '')
    withRoot(node)
    node.put(web({ name: 'shop', clusterIP: '10.112.0.21' }), pods(['10.61.2.8'], { name: 'shop' }))
    expect(await node.sync()).toEqual([])
    expect(node.balancers).toContain('203.0.113.40:10256/6 to cbr0 at 10256')
  })

  test('63: the ports of a Service share its health check, which goes once', async () => {
    const node = withRoot(new WindowsNode(forwarding))
    const ports = [80, 443].map((port) => ({ name: `p${port}`, port, protocol: 'TCP' }))
    node.put(web({ ...balanced, ports }), slice('demo/web-1', 'web', ['10.61.2.7'], ports))
    expect(await node.sync()).toEqual([])
    expect(node.balancers.filter((line) => line.includes('cbr0'))).toHaveLength(1)
    node.put(web({ ...balanced, ports: ports.slice(0, 1) }))
    await node.sync()
    expect(node.balancers.filter((line) => line.includes('cbr0'))).toHaveLength(1)
    node.calls()
    node.remove('Service', 'web')
    await node.sync()
    expect(node.balancers).toEqual([])
    expect(node.writes().filter((operation) => operation === 'removeLoadBalancer')).toHaveLength(3)
  })
})

describe('what HNS refuses', () => {
  test('64 (Q1, Q2; kube-proxy never tries again, and counts once more): an ingress IP that is refused is reported and retried', async () => {
    const node = new WindowsNode()
    node.put(web(balanced), pods(['10.61.2.7']))
    const isIngress = ({ args }: { readonly args: readonly string[] }) => args.join().includes('203.0.113.40')
    node.driver.fault({
      operation: 'createLoadBalancer',
      where: isIngress,
      times: Infinity,
      hresult: hresult.portAlreadyExists,
    })
    const failed = await node.sync()
    expect(failed.map(({ key }) => key)).toEqual(['demo/web/TCP'])
    expect(failed[0]?.reason).toContain('0x803b0013')
    const clusterIP = node.balancerId('10.112.0.20')
    const retry = failed.map(({ key }) => key)
    for (let again = 0; again < 3; again++) expect(await node.sync({ retry })).toHaveLength(1)
    expect(node.balancerId('10.112.0.20')).toBe(clusterIP)
    node.remove('Service', 'web')
    await node.sync({ retry })
    expect([node.balancers, node.remoteIps]).toEqual([[], []])
  })

  test('64: and served once it is taken', async () => {
    const node = new WindowsNode()
    node.put(web(balanced), pods(['10.61.2.7']))
    node.driver.fault({ operation: 'createLoadBalancer', nth: 3, hresult: hresult.portAlreadyExists })
    const failed = await node.sync()
    expect(await node.sync({ retry: failed.map(({ key }) => key) })).toEqual([])
    expect(node.balancers).toContain('203.0.113.40:80/6 to 10.61.2.7 at 8080 vipExternalIp')
  })

  test('a backend that is refused is left out, and its Service is reported', async () => {
    const node = new WindowsNode()
    node.driver.fault({ operation: 'createEndpoint', nth: 2, hresult: hresult.addressReserved })
    node.put(web(), pods(['10.61.2.7', '10.61.2.8']))
    const failed = await node.sync()
    expect(failed.map(({ key }) => key)).toEqual(['demo/web/TCP'])
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.2.7 at 8080'])
    expect(await node.sync({ retry: failed.map(({ key }) => key) })).toEqual([])
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.2.7 10.61.2.8 at 8080'])
  })

  test('69: an error record means failure, although HNS says that all is well', async () => {
    const node = new WindowsNode()
    node.driver.fault({ operation: 'createLoadBalancer', hresult: 0, record: '{"Success":false,"Error":"no "}' })
    node.put(web(), pods(['10.61.2.7']))
    expect(await node.sync()).toHaveLength(1)
  })

  test.each([0x80004005, 0x8007000d, 0x8000ffff, hresult.generalFailure])(
    'a code of Windows rather than of HNS, %i, concerns one object, and all others are programmed',
    async (code) => {
      const node = new WindowsNode()
      const other = { name: 'shop', clusterIP: '10.112.0.21' }
      node.put(web(), pods(['10.61.2.7']), web(other), pods(['10.61.2.8'], other))
      const works = node.driver.fault({
        operation: 'createLoadBalancer',
        where: ({ args }) => args.join().includes('10.112.0.20'),
        times: Infinity,
        hresult: code,
      })
      const failed = await node.sync()
      expect(failed.map(({ key }) => key)).toEqual(['demo/web/TCP'])
      expect(node.balancers).toEqual(['10.112.0.21:80/6 to 10.61.2.8 at 8080'])
      works()
      expect(await node.sync({ retry: failed.map(({ key }) => key) })).toEqual([])
      expect(node.balancers).toHaveLength(2)
    },
  )

  test('a port that a program of the host has is reported, without reading all load balancers over and over', async () => {
    const hostPorts = [{ protocol: 6, port: 31_080 }]
    const node = new WindowsNode({ hns: { profile: '2019', hostPorts } })
    node.put(web(nodePort), pods(['10.61.2.7']))
    const failed = await node.sync()
    expect(failed).toHaveLength(1)
    node.calls()
    await node.sync({ retry: failed.map(({ key }) => key) })
    expect(node.calls()).toEqual(['enumerateEndpoints', 'createLoadBalancer', 'enumerateLoadBalancers', 'hnsCall'])
  })
})

describe('when HNS or its network fails', () => {
  test('65: another network of the same name means starting anew, with the next sync', async () => {
    const node = await programmed()
    const foreign = putForeign(node)
    node.hns.changeNetwork(node.networkId, { name: 'old-net' })
    const networkId = node.putNetwork()
    await expect(node.sync({ full: true })).rejects.toThrow('the HNS network "pod-net" was replaced')
    expect(node.writes()).toEqual(['removeLoadBalancer', 'removeEndpoint'])
    expect(await node.sync()).toEqual([])
    expect(node.hns.endpoints.flatMap((endpoint) => (endpoint.isRemote ? [endpoint.networkId] : []))).toEqual([
      networkId,
    ])
    expect(node.hns.loadBalancers.map(({ id, vip }) => [id === foreign, vip])).toEqual([
      [true, '10.112.0.99'],
      [false, '10.112.0.20'],
    ])
  })

  test.each([false, true])('65: also what could not be deleted before goes; after a restart: %s', async (restarts) => {
    const node = await programmed()
    const [ours] = node.hns.loadBalancers
    if (ours === undefined) throw new Error('there is none')
    const works = node.driver.fault({
      operation: 'removeLoadBalancer',
      times: Infinity,
      hresult: hresult.hasReferences,
    })
    node.remove('Service', 'web')
    await node.sync()
    expect(node.balancers).toHaveLength(1)
    works()
    if (restarts) {
      node.restart()
      node.hns.putLoadBalancer(ours)
    }
    node.hns.changeNetwork(node.networkId, { name: 'old-net' })
    if (!restarts) node.putNetwork()
    await expect(node.sync({ full: true })).rejects.toThrow('HNS network "pod-net"')
    expect(node.balancers).toEqual([])
  })

  test('65: also when it is noticed by its endpoints, which went with it', async () => {
    const node = await programmed()
    node.hns.removeNetwork(node.networkId)
    node.putNetwork()
    node.put(web(nodePort))
    await expect(node.sync()).rejects.toThrow('was replaced')
    expect(await node.sync()).toEqual([])
    expect(node.balancers).toHaveLength(2)
  })

  test('65: also when only endpoints of pods here were behind it', async () => {
    const node = new WindowsNode()
    node.pod('10.61.1.5')
    node.put(web(), pods(['10.61.1.5']))
    await node.sync()
    node.hns.removeNetwork(node.networkId)
    node.putNetwork()
    node.put(web(nodePort))
    await expect(node.sync()).rejects.toThrow('was replaced')
  })

  test('a change whose answer was lost is not taken for undone', async () => {
    const node = await programmed({ hns: { profile: '2025' } })
    node.driver.fault({ operation: 'modifyLoadBalancer', effect: 'all', hresult: hresult.rpcUnavailable })
    node.put(web({ sessionAffinity: 'ClientIP' }))
    await expect(node.sync()).rejects.toMatchObject({ reason: 'unavailable' })
    node.put(web())
    await node.sync()
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.2.7 at 8080'])
  })

  test('66 (Q6; kube-proxy tears everything down): an HNS that does not answer changes nothing', async () => {
    const node = await programmed()
    const before = node.balancers
    node.hns.stop()
    node.put(web(nodePort))
    await expect(node.sync({ full: true })).rejects.toMatchObject({ reason: 'unavailable' })
    expect(node.writes()).toEqual([])
    node.hns.start()
    expect(node.balancers).toEqual(before)
    expect(await node.sync()).toEqual([])
    expect(node.balancers).toHaveLength(2)
  })

  test('67: load balancers that HNS restored under other ids are found by their frontend, and replaced', async () => {
    const node = await programmed()
    node.hns.start(['LoadBalancer'])
    node.put(pods(['10.61.2.7', '10.61.2.8']))
    expect(await node.sync()).toEqual([])
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.2.7 10.61.2.8 at 8080'])
    expect(node.writes()).toEqual([
      'createEndpoint',
      'removeLoadBalancer',
      'createLoadBalancer',
      'removeLoadBalancer',
      'createLoadBalancer',
    ])
  })

  test('67: with the very same content, too', async () => {
    const node = new WindowsNode()
    node.put(web(), pods(['10.61.2.7']))
    // Done, but the answer is lost.
    node.driver.fault({ operation: 'createLoadBalancer', effect: 'all', hresult: hresult.alreadyExists })
    expect(await node.sync()).toEqual([])
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.2.7 at 8080'])
  })

  test('67: and where HNS can change in place, they are read again', async () => {
    const node = await programmed({ hns: { profile: '2025' } })
    node.hns.start(['LoadBalancer', 'Endpoint'])
    node.put(pods(['10.61.2.7', '10.61.2.8']))
    expect(await node.sync()).toEqual([])
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.2.7 10.61.2.8 at 8080'])
    expect(node.remoteIps).toEqual(['10.61.2.7', '10.61.2.8'])
  })

  test('67: one that nobody wants any more is found under its other id, and goes', async () => {
    const node = await programmed()
    node.hns.start(['LoadBalancer'])
    node.remove('Service', 'web')
    expect(await node.sync()).toEqual([])
    expect([node.balancers, node.remoteIps]).toEqual([[], []])
  })

  test('68 (kube-proxy panics): a load balancer without ports, left by a creation that failed, is no obstacle', async () => {
    const node = await programmed()
    node.hns.putHalfLoadBalancer()
    node.restart()
    expect(await node.sync()).toEqual([])
    await node.sync({ full: true })
    expect(node.writes()).toEqual([])
  })

  test('70: objects that vanish while they are listed are skipped', async () => {
    const node = await programmed()
    const stranger = node.pod('10.61.1.77')
    const foreign = putForeign(node)
    const vanishing = (kind: 'Endpoint' | 'LoadBalancer', id: string) =>
      node.driver.fault({
        operation: `query${kind}`,
        where({ args }) {
          if (args[0] === id) node.hns.remove(kind, id)
          return false
        },
      })
    vanishing('Endpoint', stranger)
    vanishing('LoadBalancer', foreign)
    node.restart()
    expect(await node.sync()).toEqual([])
    expect(node.writes()).toEqual([])
  })
})

describe('at the start', () => {
  test('8 (kube-proxy deletes every load balancer of the host): what fits is taken over, and what others have stays', async () => {
    const node = await programmed()
    const [ours] = node.hns.loadBalancers
    const foreign = putForeign(node)
    node.put(web({ name: 'gone', clusterIP: '10.112.0.22' }), pods(['10.61.2.7'], { name: 'gone' }))
    await node.sync()
    node.remove('Service', 'gone')
    node.restart()
    node.calls()
    await node.sync()
    expect(node.writes()).toEqual(['removeLoadBalancer'])
    expect(node.hns.loadBalancers.map(({ id }) => id)).toEqual([ours?.id, foreign])
  })

  test('what kube-proxy left is taken over, or replaced where it differs', async () => {
    const node = new WindowsNode()
    const pod = node.pod('10.61.1.5')
    const remote = node.hns.putEndpoint(node.networkId, { ips: ['10.61.2.7'], isRemote: true })
    const same = node.hns.putLoadBalancer({ ...clusterIP, endpoints: [remote, pod] })
    const other = node.hns.putLoadBalancer({
      ...clusterIP,
      endpoints: [pod],
      vip: undefined,
      externalPort: 31_080,
      flags: 1,
    })
    node.put(web(nodePort), pods(['10.61.1.5', '10.61.2.7']))
    expect(await node.sync()).toEqual([])
    expect(node.hns.loadBalancers.map(({ id }) => id === same)).toEqual([true, false])
    expect(node.hns.loadBalancers.map(({ id }) => id)).not.toContain(other)
    expect(node.balancers).toEqual([
      '10.112.0.20:80/6 to 10.61.1.5 10.61.2.7 at 8080',
      '*:31080/6 to 10.61.1.5 10.61.2.7 at 8080 localRoutedVip vipExternalIp',
    ])
    // It is not ours, so it stays.
    node.remove('Service', 'web')
    await node.sync()
    expect([node.balancers, node.remoteIps]).toEqual([[], ['10.61.2.7']])
  })

  test('Q9: HNS is never asked for an object without a name', async () => {
    const node = new WindowsNode({ settings: { forwardHealthCheckVip: true, rootEndpointName: '' } })
    node.put(web(balanced), pods(['10.61.2.7']))
    await node.sync()
    const queries = node.driver.takeJournal().flatMap(({ args }) => args)
    expect(queries.filter((text) => text.includes('\\"\\"'))).toEqual([])
  })
})
