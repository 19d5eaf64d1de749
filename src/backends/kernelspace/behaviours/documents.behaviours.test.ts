import { describe, expect, test } from 'vitest'
import { slice } from '../../../core/testing/objects.ts'
import { networkOf } from '../network.ts'
import { balanced, externalLocal, nodePort, pods, web } from '../testing/web-service.ts'
import { WindowsNode } from '../testing/windows-node.ts'

const overlay = { type: 'Overlay' } as const
const schema = '"SchemaVersion":{"Major":2,"Minor":0}'

async function synced(node: WindowsNode): Promise<WindowsNode> {
  expect(await node.sync()).toEqual([])
  return node
}

describe('documents and identity', () => {
  test('11: a backend elsewhere that a bridge network does not know gets a remote endpoint with a conjured MAC', async () => {
    const node = new WindowsNode()
    node.put(web(), pods(['10.61.2.7']))
    await node.sync()
    expect(node.created('Endpoint')).toEqual([
      `{"HostComputeNetwork":"${node.networkId}","IpConfigurations":[{"IpAddress":"10.61.2.7"}],"Dns":{},` +
        `"MacAddress":"02-11-0a-3d-02-07","Flags":1,"Health":{"Extra":{}},${schema}}`,
    ])
  })

  test('12: in an overlay network it names the node that has the subnet', async () => {
    const node = new WindowsNode(overlay)
    node.put(web(), pods(['10.61.2.7']))
    await node.sync()
    expect(node.created('Endpoint').at(-1)).toBe(
      `{"HostComputeNetwork":"${node.networkId}","Policies":[{"Type":"ProviderAddress","Settings":{"ProviderAddress":"172.30.7.12"}}],` +
        `"IpConfigurations":[{"IpAddress":"10.61.2.7"}],"Dns":{},"MacAddress":"02-11-0a-3d-02-07","Flags":1,"Health":{"Extra":{}},${schema}}`,
    )
  })

  test('13: a backend in no subnet has this node as its provider, and sees the node as the client', async () => {
    const node = new WindowsNode(overlay)
    node.put(web(nodePort), pods(['192.0.2.50']))
    await synced(node)
    expect(node.hns.endpoints.find(({ ips }) => ips[0] === '192.0.2.50')?.providerAddress).toBe('172.30.7.11')
    expect(node.balancers).toEqual([
      '10.112.0.20:80/6 to 192.0.2.50 at 8080 from 172.30.7.11',
      '*:31080/6 to 192.0.2.50 at 8080 localRoutedVip vipExternalIp from 172.30.7.11',
    ])
  })

  test('14: a backend that is another node sees this node as the client, a pod sees the source VIP', async () => {
    const node = new WindowsNode(overlay)
    node.put(web(), pods(['172.30.7.12']))
    await synced(node)
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 172.30.7.12 at 8080 from 172.30.7.11'])
    node.put(pods(['10.61.2.7']))
    await synced(node)
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.2.7 at 8080 from 10.61.1.2'])
  })

  test('15: a node is its own provider, a pod has that of its subnet, and a cluster IP has none', () => {
    const subnet = { providerAddress: '172.30.7.12', isolationId: 4096, routerMac: '' }
    const network = networkOf({ id: '', remoteSubnets: [{ ...subnet, prefix: '10.61.2.0/24' }] })
    expect(['172.30.7.12', '10.61.2.99', '10.112.0.1'].map((ip) => network.findProvider(ip))).toEqual([
      '172.30.7.12',
      '172.30.7.12',
      undefined,
    ])
    // Upstream crashes over a prefix that is none.
    const odd = networkOf({ id: '', remoteSubnets: [{ ...subnet, prefix: 'nonsense' }] })
    expect(odd.findProvider('10.61.2.99')).toBeUndefined()
  })

  test('15: where subnets overlap, the last one counts', () => {
    const common = { isolationId: 4096, routerMac: '', prefix: '10.61.2.0/24' }
    const remoteSubnets = ['172.30.7.12', '172.30.7.13'].map((providerAddress) => ({ ...common, providerAddress }))
    expect(networkOf({ id: '', remoteSubnets }).findProvider('10.61.2.7')).toBe('172.30.7.13')
  })

  test('18: a node port has no VIP and mapping flags 18, and DSR only with policy Local', async () => {
    const node = new WindowsNode()
    const id = node.pod('10.61.1.5')
    node.put(web(nodePort), pods(['10.61.1.5']))
    await node.sync()
    const mapping = '{"Protocol":6,"InternalPort":8080,"ExternalPort":31080,"Flags":18}'
    expect(node.created('LoadBalancer').at(-1)).toBe(
      `{"HostComputeEndpoints":["${id}"],"PortMappings":[${mapping}],${schema}}`,
    )
    node.put(web({ ...nodePort, ...externalLocal }))
    await node.sync()
    expect(node.created('LoadBalancer')).toEqual([
      `{"HostComputeEndpoints":["${id}"],"PortMappings":[${mapping}],${schema},"Flags":1}`,
    ])
  })

  test('19: preserve-destination "true" means flags 28, DSR, and backends of this node; "True" means nothing', async () => {
    const node = new WindowsNode()
    const id = node.pod('10.61.1.5')
    node.put(web({ ...balanced, annotations: { 'preserve-destination': 'true' } }), pods(['10.61.1.5', '10.61.2.7']))
    await node.sync()
    expect(node.created('LoadBalancer').at(-1)).toBe(
      `{"HostComputeEndpoints":["${id}"],"FrontendVIPs":["203.0.113.40"],` +
        `"PortMappings":[{"Protocol":6,"InternalPort":8080,"ExternalPort":80,"Flags":28}],${schema},"Flags":1}`,
    )
    expect(node.balancers[1]).toBe('*:31080/6 to 10.61.1.5 at 8080 localRoutedVip vipExternalIp')
    node.put(web({ ...balanced, annotations: { 'preserve-destination': 'True' } }))
    await node.sync()
    expect(node.balancers).toContain('203.0.113.40:80/6 to 10.61.1.5 10.61.2.7 at 8080 vipExternalIp')
  })

  test('20: affinity is asked for at every frontend, even of an HNS that lacks it, but not of health checks', async () => {
    const version = { major: 9, minor: 5 }
    const node = new WindowsNode({ hns: { version }, settings: { forwardHealthCheckVip: true } })
    node.hns.putEndpoint(node.networkId, { ips: ['10.61.1.1'], name: 'cbr0' })
    node.put(web({ ...balanced, externalIPs: ['198.51.100.9'], sessionAffinity: 'ClientIP' }), pods(['10.61.2.7']))
    await synced(node)
    expect(node.balancers.map((line) => [line.split(' ')[0], line.includes('sticky')])).toEqual([
      ['10.112.0.20:80/6', true],
      ['*:31080/6', true],
      ['198.51.100.9:80/6', true],
      ['203.0.113.40:80/6', true],
      ['203.0.113.40:10256/6', false],
    ])
    expect(node.logged.at('warn').flatMap(({ fields }) => fields['limits'])).toEqual([
      'this version does not keep clients with their endpoint',
    ])
  })

  test('21: UDP and SCTP have their numbers', async () => {
    const node = new WindowsNode()
    const ports = ['UDP', 'SCTP'].map((protocol) => ({ name: protocol.toLowerCase(), port: 80, protocol }))
    node.put(web({ ports }), slice('demo/web-1', 'web', ['10.61.2.7'], ports))
    await synced(node)
    expect(new Set(node.balancers.map((line) => line.split(' ')[0]))).toEqual(
      new Set(['10.112.0.20:80/132', '10.112.0.20:80/17']),
    )
  })

  test('22: the port of the slice counts, whatever the Service says', async () => {
    const node = new WindowsNode()
    node.put(web({ ports: [{ port: 80, targetPort: 80 }] }), pods(['10.61.2.7']))
    await synced(node)
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.2.7 at 8080'])
  })

  test('22: of backends with different ports the last one decides, and that is said once', async () => {
    const node = new WindowsNode()
    node.put(web(), pods(['10.61.2.7']), slice('demo/web-2', 'web', ['10.61.2.8'], [9090]))
    await synced(node)
    expect(node.balancers).toEqual(['10.112.0.20:80/6 to 10.61.2.7 10.61.2.8 at 9090'])
    await node.sync({ full: true })
    node.put(pods(['10.61.2.6', '10.61.2.7']))
    await synced(node)
    const told = node.logged.at('warn').filter(({ message }) => message === 'HNS cannot do what a Service asks for')
    expect(told.map(({ fields }) => fields['service'])).toEqual(['demo/web'])
  })
})
