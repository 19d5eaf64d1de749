import { describe, expect, test } from 'vitest'
import { slice } from '../../../core/testing/objects.ts'
import { hresult } from '../../../dataplane/hcn/hresult.ts'
import { internalLocal, pods, web } from '../testing/web-service.ts'
import { WindowsNode } from '../testing/windows-node.ts'

function ipIn(document: string): unknown {
  return /"IpAddress":"([^"]*)"/.exec(document)?.[1]
}

async function programmed(profile: '2022' | '2025' = '2022'): Promise<WindowsNode> {
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

  test('the source VIP that the CNI has made is used', async () => {
    const node = new WindowsNode({ type: 'Overlay' })
    node.pod('10.61.1.2')
    node.put(web(), pods(['10.61.2.7']))
    await node.sync()
    expect(node.created('Endpoint').map(ipIn)).toEqual(['10.112.0.20', '10.61.2.7'])
    expect(node.owned.list().filter((line) => line.startsWith('source-vip'))).toEqual([])
  })
})
