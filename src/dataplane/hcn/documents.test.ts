import { expect, test } from 'vitest'
import { testBalancer } from './testing/load-balancers.ts'
import { conjuredMac } from './conjured-mac.ts'
import { renderEndpoint, renderLoadBalancer, renderQuery } from './documents.ts'

const network = '5a3d0000-0000-4000-8000-000000000001'
const endpoint = '8f1c0000-0000-4000-8000-000000000002'

const clusterIp = testBalancer({ endpoints: [endpoint] })

test('a query without a filter has none, and a filter is a text that holds JSON', () => {
  expect(renderQuery()).toBe('{"SchemaVersion":{"Major":2,"Minor":0}}')
  expect(renderQuery({ Name: 'pod-net' })).toBe(
    String.raw`{"SchemaVersion":{"Major":2,"Minor":0},"Filter":"{\"Name\":\"pod-net\"}"}`,
  )
  expect(renderQuery({ VirtualNetwork: network })).toBe(
    String.raw`{"SchemaVersion":{"Major":2,"Minor":0},"Filter":"{\"VirtualNetwork\":\"${network}\"}"}`,
  )
})

test('what Go escapes is escaped, inside a filter twice', () => {
  expect(renderQuery({ Name: '<a&b>' })).toBe(
    String.raw`{"SchemaVersion":{"Major":2,"Minor":0},"Filter":"{\"Name\":\"\\u003ca\\u0026b\\u003e\"}"}`,
  )
})

test.each([
  [
    'a remote one in an overlay network',
    { ip: '10.61.2.7', mac: '02-11-0a-3d-02-07', isRemote: true, providerAddress: '172.30.7.12' },
    `{"HostComputeNetwork":"${network}","Policies":[{"Type":"ProviderAddress","Settings":{"ProviderAddress":"172.30.7.12"}}],"IpConfigurations":[{"IpAddress":"10.61.2.7"}],"Dns":{},"MacAddress":"02-11-0a-3d-02-07","Flags":1,"Health":{"Extra":{}},"SchemaVersion":{"Major":2,"Minor":0}}`,
  ],
  [
    'a remote one in a bridge',
    { ip: '10.61.2.7', mac: '02-11-0a-3d-02-07', isRemote: true, providerAddress: undefined },
    `{"HostComputeNetwork":"${network}","IpConfigurations":[{"IpAddress":"10.61.2.7"}],"Dns":{},"MacAddress":"02-11-0a-3d-02-07","Flags":1,"Health":{"Extra":{}},"SchemaVersion":{"Major":2,"Minor":0}}`,
  ],
  [
    'a local one',
    { ip: '10.61.1.2', mac: '00:15:5d:0a:0b:0c', isRemote: false, providerAddress: undefined },
    `{"HostComputeNetwork":"${network}","IpConfigurations":[{"IpAddress":"10.61.1.2"}],"Dns":{},"MacAddress":"00:15:5d:0a:0b:0c","Health":{"Extra":{}},"SchemaVersion":{"Major":2,"Minor":0}}`,
  ],
])('the document of an endpoint: %s', (_, settings, document) => {
  expect(renderEndpoint(network, settings)).toBe(document)
})

const before = `{"HostComputeEndpoints":["${endpoint}"]`
const schema = '"SchemaVersion":{"Major":2,"Minor":0}'

test.each([
  [
    'direct server return',
    { flags: 1 },
    `${before},"FrontendVIPs":["10.112.0.20"],"PortMappings":[{"Protocol":6,"InternalPort":8080,"ExternalPort":80}],${schema},"Flags":1}`,
  ],
  [
    'every address of the host',
    { vip: undefined, externalPort: 31080, mappingFlags: 18 },
    `${before},"PortMappings":[{"Protocol":6,"InternalPort":8080,"ExternalPort":31080,"Flags":18}],${schema}}`,
  ],
  [
    'an address of outside that keeps the destination',
    { vip: '203.0.113.40', mappingFlags: 28, flags: 1 },
    `${before},"FrontendVIPs":["203.0.113.40"],"PortMappings":[{"Protocol":6,"InternalPort":8080,"ExternalPort":80,"Flags":28}],${schema},"Flags":1}`,
  ],
  [
    'sticky clients',
    { isSticky: true, mappingFlags: 16 },
    `${before},"FrontendVIPs":["10.112.0.20"],"PortMappings":[{"Protocol":6,"InternalPort":8080,"ExternalPort":80,"DistributionType":2,"Flags":16}],${schema}}`,
  ],
  [
    'an overlay network, UDP',
    { sourceVip: '10.61.1.2', protocol: 17 },
    `${before},"SourceVIP":"10.61.1.2","FrontendVIPs":["10.112.0.20"],"PortMappings":[{"Protocol":17,"InternalPort":8080,"ExternalPort":80}],${schema}}`,
  ],
  [
    'IPv6, SCTP',
    { vip: '2001:db8:112::20', flags: 2, protocol: 132 },
    `${before},"FrontendVIPs":["2001:db8:112::20"],"PortMappings":[{"Protocol":132,"InternalPort":8080,"ExternalPort":80}],${schema},"Flags":2}`,
  ],
])('the document of a load balancer: %s', (_, change, document) => {
  expect(renderLoadBalancer({ ...clusterIp, ...change })).toBe(document)
})

test.each([
  ['10.61.2.7', '02-11-0a-3d-02-07'],
  ['::ffff:10.61.2.7', '02-11-0a-3d-02-07'],
  ['2001:db8:61::2:7', '02-11-07-00-02-00'],
  ['nonsense', '02-11-22-33-44-55'],
])('the MAC address of %s is %s', (ip, mac) => {
  expect(conjuredMac(ip)).toBe(mac)
})
