import { describe, expect, test } from 'vitest'
import { slice } from '../../../core/testing/objects.ts'
import { hresult } from '../../../dataplane/hcn/hresult.ts'
import { internalLocal, pods, web } from '../testing/web-service.ts'
import { WindowsNode } from '../testing/windows-node.ts'

function ipIn(document: string): unknown {
  return /"IpAddress":"([^"]*)"/.exec(document)?.[1]
}

async function programmed(profile: '2019' | '2022' | '2025' = '2022'): Promise<WindowsNode> {
  const node = new WindowsNode({ type: 'Overlay', hns: { profile } })
  node.put(web(), pods(['10.61.2.7']))
  expect(await node.sync()).toEqual([])
  return node
}

describe('overlay networks', () => {
  test('54: the source VIP is made first, then the endpoint of the cluster IP, then those of backends', async () => {
    const node = await programmed()
    const documents = node.created('Endpoint')
    expect(documents.map(ipIn)).toEqual(['10.61.1.2', '10.112.0.20', '10.61.2.7'])
    const end = '"Health":{"Extra":{}},"SchemaVersion":{"Major":2,"Minor":0}}'
    const start = `{"HostComputeNetwork":"${node.networkId}"`
    expect(documents[0]).toBe(
      `${start},"IpConfigurations":[{"IpAddress":"10.61.1.2"}],"Dns":{},"MacAddress":"00:15:5d:0a:0b:0c",${end}`,
    )
    expect(documents[1]).toBe(
      `${start},"Policies":[{"Type":"ProviderAddress","Settings":{"ProviderAddress":"172.30.7.11"}}],` +
        `"IpConfigurations":[{"IpAddress":"10.112.0.20"}],"Dns":{},"MacAddress":"00:15:5d:0a:0b:0c","Flags":1,${end}`,
    )
  })

  test('55: the ports of a Service share the endpoint of its cluster IP', async () => {
    const node = new WindowsNode({ type: 'Overlay' })
    const ports = [80, 443].map((port) => ({ name: `p${port}`, port, protocol: 'TCP' }))
    node.put(web({ ports }), slice('demo/web-1', 'web', ['10.61.2.7'], ports))
    await node.sync()
    expect(node.remoteIps).toEqual(['10.112.0.20', '10.61.2.7'])
    node.put(web({ ports: ports.slice(0, 1) }))
    await node.sync()
    expect(node.remoteIps).toEqual(['10.112.0.20', '10.61.2.7'])
    node.remove('Service', 'web')
    await node.sync()
    expect(node.remoteIps).toEqual([])
  })

  test('56: without a source VIP nothing is programmed, and the next sync tries again', async () => {
    const node = new WindowsNode({ type: 'Overlay' })
    node.driver.fault({ operation: 'createEndpoint', hresult: hresult.addressReserved })
    node.put(web(), pods(['10.61.2.7']))
    await expect(node.sync()).rejects.toThrow('0x803b002f')
    expect(node.writes()).toEqual(['createEndpoint'])
    expect(await node.sync()).toEqual([])
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.2.7 at 8080 from 10.61.1.2'])
  })

  test('57 (Q11; kube-proxy deletes and makes it anew): the endpoint of the cluster IP stays when backends change', async () => {
    const node = await programmed()
    const id = node.endpointId('10.112.0.20')
    node.put(pods(['10.61.2.8']))
    await node.sync()
    expect(node.endpointId('10.112.0.20')).toBe(id)
  })

  test('58: when the network vanishes before an endpoint is made, everything is torn down and the sync fails', async () => {
    const node = await programmed()
    node.put(pods(['10.61.2.7', '10.61.2.8']))
    node.driver.fault({
      operation: 'createEndpoint',
      where() {
        node.hns.removeNetwork(node.networkId)
        return false
      },
    })
    await expect(node.sync()).rejects.toThrow('there is no HNS network "pod-net"')
    expect(node.balancers).toEqual([])
    expect(node.hns.endpoints).toEqual([])
  })

  test.each(['a process that knows what it wrote', 'a new one'])(
    '58: also when everything is written, by %s; then the next sync tears it down',
    async (process) => {
      const node = await programmed()
      node.put(pods(['10.61.2.7', '10.61.2.8']))
      if (process === 'a new one') node.restart()
      const works = node.driver.fault({
        operation: 'createEndpoint',
        where() {
          node.hns.removeNetwork(node.networkId)
          return false
        },
      })
      await expect(node.sync({ full: true })).rejects.toThrow('The network was not found')
      works()
      await expect(node.sync()).rejects.toThrow('there is no HNS network "pod-net"')
      expect(node.balancers).toEqual([])
      expect(node.hns.endpoints).toEqual([])
      node.putNetwork()
      expect(await node.sync()).toEqual([])
      expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.2.7 10.61.2.8 at 8080 from 10.61.1.2'])
    },
  )

  test('a node that joins is learned of when an endpoint is made, and changes the source VIP where it must', async () => {
    const node = await programmed('2025')
    node.put(pods(['10.61.3.7']))
    await node.sync()
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.3.7 at 8080 from 172.30.7.11'])
    const third = { prefix: '10.61.3.0/24', providerAddress: '172.30.7.13', isolationId: 4096, routerMac: '' }
    node.hns.changeNetwork(node.networkId, { remoteSubnets: [third] })
    node.put(pods(['10.61.3.7', '10.61.3.8']))
    expect(await node.sync()).toEqual([])
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.3.7 10.61.3.8 at 8080 from 10.61.1.2'])
  })

  test.each([
    ['a pod that HNS has here, whatever the slice says', {}, ['10.61.1.5 somewhere']],
    ['a machine outside, if the policy keeps traffic here', internalLocal, ['10.61.1.5', '192.0.2.9']],
  ])('the source VIP stands in front of %s', async (_, wish, backends) => {
    const node = new WindowsNode({ type: 'Overlay' })
    node.pod('10.61.1.5')
    node.put(web(wish), pods(backends))
    expect(await node.sync()).toEqual([])
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.1.5 at 8080 from 10.61.1.2'])
  })

  describe('the node that an endpoint leads to', () => {
    const subnet = { prefix: '10.61.3.0/24', isolationId: 4096, routerMac: '' }
    const second = { ...subnet, prefix: '10.61.2.0/24', providerAddress: '172.30.7.12' }
    const moveTo = (node: WindowsNode, ...providers: readonly string[]) => {
      const subnets = providers.map((providerAddress) => ({ ...subnet, providerAddress }))
      node.hns.changeNetwork(node.networkId, { remoteSubnets: [second, ...subnets] })
    }
    const leadsTo = ({ hns }: WindowsNode, ip: string) =>
      hns.endpoints.flatMap(({ ips, providerAddress }) => (ips.includes(ip) ? [providerAddress] : []))
    const balancers = ['10.112.0.20:80/6 to 10.61.2.7 10.61.3.7 at 8080 from 10.61.1.2']

    test.each(['2019', '2022', '2025'] as const)(
      'is put right when that node joins late, or another one: %s',
      async (profile) => {
        const node = await programmed(profile)
        node.put(pods(['10.61.2.7', '10.61.3.7']))
        await node.sync()
        const settled = node.endpointId('10.61.2.7')
        expect(leadsTo(node, '10.61.3.7')).toEqual(['172.30.7.11'])
        for (const provider of ['172.30.7.13', '172.30.7.14']) {
          moveTo(node, provider)
          expect(await node.sync({ full: true })).toEqual([])
          expect(leadsTo(node, '10.61.3.7')).toEqual([provider])
          expect(node.balancers).toEqual(balancers)
        }
        expect(node.endpointId('10.61.2.7')).toBe(settled)
        expect(leadsTo(node, '10.112.0.20')).toEqual(['172.30.7.11'])
        node.calls()
        await node.sync({ full: true })
        expect(node.writes()).toEqual([])
      },
    )

    test('is this one for the address of a Service, whatever subnets HNS has', async () => {
      const node = await programmed()
      const wide = { ...subnet, prefix: '10.112.0.0/16', providerAddress: '172.30.7.13' }
      node.hns.changeNetwork(node.networkId, { remoteSubnets: [second, wide] })
      node.calls()
      await node.sync({ full: true })
      expect(node.writes()).toEqual([])
    })

    test('is put right by the next process', async () => {
      const node = await programmed()
      node.put(pods(['10.61.2.7', '10.61.3.7']))
      await node.sync()
      moveTo(node, '172.30.7.13')
      node.restart()
      expect(await node.sync()).toEqual([])
      expect(leadsTo(node, '10.61.3.7')).toEqual(['172.30.7.13'])
      expect(node.balancers).toEqual(balancers)
    })

    test('is not for us to change where somebody else made the endpoint, or where HNS does not tell', async () => {
      const node = await programmed()
      node.hns.putEndpoint(node.networkId, { ips: ['10.61.2.8'], isRemote: true, providerAddress: '172.30.7.99' })
      node.put(pods(['10.61.2.7', '10.61.2.8']))
      await node.sync()
      const { id, ...silent } = node.hns.endpoint(node.endpointId('10.61.2.7') ?? '')
      node.hns.remove('Endpoint', id)
      node.hns.putEndpoint(node.networkId, { ...silent, providerAddress: undefined })
      await node.sync({ full: true })
      node.restart()
      await node.sync()
      expect(leadsTo(node, '10.61.2.8')).toEqual(['172.30.7.99'])
      expect(leadsTo(node, '10.61.2.7')).toEqual([undefined])
      expect(node.balancers).toHaveLength(1)
    })

    test('stays as it is where HNS does not let the load balancer or the endpoint go', async () => {
      for (const operation of ['removeLoadBalancer', 'removeEndpoint'] as const) {
        const node = await programmed()
        node.put(pods(['10.61.2.7', '10.61.3.7']))
        await node.sync()
        moveTo(node, '172.30.7.13')
        const works = node.driver.fault({ operation, times: Infinity, hresult: hresult.switchPortNotFound })
        await node.sync({ full: true })
        expect(leadsTo(node, '10.61.3.7')).toEqual(['172.30.7.11'])
        expect(node.balancers).toHaveLength(1)
        works()
        expect(await node.sync({ full: true })).toEqual([])
        expect(leadsTo(node, '10.61.3.7')).toEqual(['172.30.7.13'])
        expect(node.balancers).toEqual(balancers)
      }
    })
  })

  describe('a source VIP of ours that is configured no more', () => {
    const other = { sourceVip: '10.61.1.3' }
    const sourceVips = ({ owned }: WindowsNode) => owned.list().filter((line) => line.startsWith('source-vip'))

    test('goes when nothing is forwarded from it any more', async () => {
      const node = await programmed()
      node.restart(other)
      expect(await node.sync()).toEqual([])
      expect(node.endpointId('10.61.1.2')).toBeUndefined()
      expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.2.7 at 8080 from 10.61.1.3'])
      expect(sourceVips(node)).toEqual(['source-vip 10.61.1.3'])
      node.calls()
      await node.sync({ full: true })
      expect(node.writes()).toEqual([])
    })

    test('stays while a load balancer uses it, or HNS does not let it go', async () => {
      for (const operation of ['removeLoadBalancer', 'removeEndpoint'] as const) {
        const node = await programmed()
        node.restart(other)
        const works = node.driver.fault({ operation, times: Infinity, hresult: hresult.hasReferences })
        await node.sync()
        expect(node.endpointId('10.61.1.2')).toBeDefined()
        expect(sourceVips(node)).toContain('source-vip 10.61.1.2')
        works()
        expect(await node.sync({ full: true })).toEqual([])
        expect(node.endpointId('10.61.1.2')).toBeUndefined()
        expect(sourceVips(node)).toEqual(['source-vip 10.61.1.3'])
      }
    })

    test('is left alone where a pod has got the address', async () => {
      const node = await programmed()
      node.hns.remove('Endpoint', node.endpointId('10.61.1.2') ?? '')
      const pod = node.pod('10.61.1.2')
      node.restart(other)
      await node.sync()
      expect(node.endpointId('10.61.1.2')).toBe(pod)
    })
  })

  test('the source VIP that the CNI has made is used', async () => {
    const node = new WindowsNode({ type: 'Overlay' })
    node.pod('10.61.1.2')
    node.put(web(), pods(['10.61.2.7']))
    await node.sync()
    expect(node.created('Endpoint').map(ipIn)).toEqual(['10.112.0.20', '10.61.2.7'])
    expect(node.owned.list().filter((line) => line.startsWith('source-vip'))).toEqual([])
  })
})
