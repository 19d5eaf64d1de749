import { describe, expect, test } from 'vitest'
import { parseEndpoint, parseIds, parseLoadBalancer, parseNetwork, parsePolicyLists, parseVersion } from './replies.ts'

const id = '5A3D0000-0000-4000-8000-00000000000A'
const lower = id.toLowerCase()

test('ids are lower case, and no answer is no ids', () => {
  expect(parseIds(`["${id}"]`)).toEqual([lower])
  expect(parseIds('')).toEqual([])
  expect(parseIds('null')).toEqual([])
})

test('a network has its remote subnets, and nothing of its other policies', () => {
  const subnet = {
    DestinationPrefix: '10.61.2.0/24',
    IsolationId: 4096,
    ProviderAddress: '172.30.7.12',
    DistributedRouterMacAddress: '00-15-5D-4C-11-02',
  }
  const policies = [
    { Type: 'RemoteSubnetRoute', Settings: subnet },
    { Type: 'HostRoute', Settings: {} },
  ]
  expect(parseNetwork(JSON.stringify({ ID: id, Name: 'pod-net', Type: 'Overlay', Policies: policies }))).toEqual({
    id: lower,
    name: 'pod-net',
    type: 'Overlay',
    remoteSubnets: [
      {
        prefix: '10.61.2.0/24',
        isolationId: 4096,
        providerAddress: '172.30.7.12',
        routerMac: '00-15-5D-4C-11-02',
      },
    ],
  })
})

test('a network without a type is NAT', () => {
  expect(parseNetwork(`{"ID":"${id}"}`).type).toBe('NAT')
})

test('a network whose remote subnet cannot be read is not half read', () => {
  const policies = [{ Type: 'RemoteSubnetRoute', Settings: { DestinationPrefix: 7 } }]
  expect(() => parseNetwork(JSON.stringify({ ID: id, Policies: policies }))).toThrow(
    `HNS answered with 7 as a remote subnet of network ${lower}, which is not a text`,
  )
})

test.each([
  ['1', true],
  ['"RemoteEndpoint"', true],
  ['"DisableICC, RemoteEndpoint"', true],
  ['0', false],
  ['"None"', false],
  ['2', false],
])('an endpoint with flags %s is remote: %s', (flags, isRemote) => {
  const text = `{"ID":"${id}","HostComputeNetwork":"${id}","IpConfigurations":[{"IpAddress":"2001:DB8::07"},{}],"Flags":${flags}}`
  expect(parseEndpoint(text)).toEqual({
    id: lower,
    name: '',
    networkId: lower,
    ips: ['2001:db8::7'],
    mac: '',
    isRemote,
    providerAddress: undefined,
  })
})

test('an endpoint in an overlay network leads to a node; what its other policies say is for others', () => {
  const provider = { Type: 'ProviderAddress', Settings: { ProviderAddress: '2001:DB8:0::12' } }
  const leadsTo = (...policies: readonly unknown[]) =>
    parseEndpoint(JSON.stringify({ ID: id, Policies: policies })).providerAddress
  expect(leadsTo({ Type: 'ACL', Settings: 'none' }, 7, provider)).toBe('2001:db8::12')
  expect(leadsTo({ Type: 'ACL', Settings: { ProviderAddress: '172.30.7.12' } })).toBeUndefined()
  expect(leadsTo({ Type: 'ProviderAddress' })).toBeUndefined()
  expect(leadsTo({ Type: 'ProviderAddress', Settings: { ProviderAddress: 7 } })).toBeUndefined()
})

describe('a load balancer', () => {
  const expected = {
    id: lower,
    endpoints: [lower],
    sourceVip: '10.61.1.2',
    vip: '203.0.113.40',
    protocol: 6,
    internalPort: 8080,
    externalPort: 80,
    isSticky: true,
    mappingFlags: 28,
    flags: 3,
  }
  const common = `"ID":"${id}","HostComputeEndpoints":["${id}"],"SourceVIP":"10.61.1.2","FrontendVIPs":["203.0.113.40"]`
  const ports = '"InternalPort":8080,"ExternalPort":80'

  test.each([
    [
      'numbers',
      `{${common},"PortMappings":[{"Protocol":6,${ports},"DistributionType":2,"Flags":28}],"SchemaVersion":{"Major":2,"Minor":0},"Flags":3}`,
    ],
    [
      'names',
      `{${common},"PortMappings":[{"Protocol":"TCP",${ports},"DistributionType":"SourceIP","Flags":"VipExternalIP, PreserveDIP, NotUsed"}],"Flags":["EnableDirectServerReturn","IPv6"]}`,
    ],
    [
      'numbers in texts',
      `{${common},"PortMappings":[{"Protocol":"6","InternalPort":"8080","ExternalPort":"80","DistributionType":"2","Flags":"28"}],"Flags":"3"}`,
    ],
  ])('may be told by %s', (_, text) => {
    expect(parseLoadBalancer(text)).toEqual(expected)
  })

  test('may leave out everything that is zero', () => {
    expect(parseLoadBalancer(`{"ID":"${id}","PortMappings":[{}]}`)).toEqual({
      id: lower,
      endpoints: [],
      sourceVip: undefined,
      vip: undefined,
      protocol: 0,
      internalPort: 0,
      externalPort: 0,
      isSticky: false,
      mappingFlags: 0,
      flags: 0,
    })
  })

  test.each([`{"ID":"${id}"}`, `{"ID":"${id}","PortMappings":[]}`, `{"ID":"${id}","PortMappings":null}`])(
    'without a port mapping is none: %s',
    (text) => {
      expect(parseLoadBalancer(text)).toBeUndefined()
    },
  )
})

test('a policy without a type is that of a load balancer', () => {
  const untyped = '{"Protocol":6,"InternalPort":8080,"ExternalPort":80}'
  const listed = (policies: string) =>
    parsePolicyLists(`{"Success":true,"Output":[{"ID":"${id}","Policies":[${policies}]}]}`)
  expect(listed(untyped)).toMatchObject([{ id: lower, protocol: 6, internalPort: 8080, externalPort: 80 }])
  expect(listed(`{"Type":"ROUTE"},${untyped}`)).toMatchObject([{ internalPort: 8080 }])
  expect(listed('{"Type":"ROUTE"}')).toEqual([])
})

test('the old API tells of all load balancers at once', () => {
  const text = `{"Success":true,"Output":[{"ID":"${id}","References":["/endpoints/${id}","/networks/x"],"Policies":[{"Type":"ELB","Protocol":6,"InternalPort":8080,"ExternalPort":80,"VIPs":["10.112.0.20"],"SourceVIP":"10.61.1.2","IsDSR":true}],"State":4},{"ID":"${id}","Policies":[{"Type":"ROUTE"}]},{"ID":"${id}","References":null,"Policies":[{"Type":"ELB","Protocol":17,"InternalPort":53,"ExternalPort":31053}],"State":2}]}`
  expect(parsePolicyLists(text)).toEqual([
    {
      id: lower,
      endpoints: [lower],
      vip: '10.112.0.20',
      protocol: 6,
      internalPort: 8080,
      externalPort: 80,
      sourceVip: '10.61.1.2',
      isDsr: true,
      isDegraded: true,
    },
    {
      id: lower,
      endpoints: [],
      vip: undefined,
      protocol: 17,
      internalPort: 53,
      externalPort: 31053,
      sourceVip: undefined,
      isDsr: false,
      isDegraded: false,
    },
  ])
  expect(parsePolicyLists('{"Success":true}')).toEqual([])
})

test('the old API says inside an answer that it failed', () => {
  expect(() => parseVersion('{"Success":false,"Error":"Element not found. ","ErrorCode":2147943568}')).toThrow(
    expect.objectContaining({ reason: 'not-found', hresult: 0x80070490 }),
  )
  expect(() => parseVersion('{"Success":false}')).toThrow(expect.objectContaining({ reason: 'refused' }))
  expect(parseVersion('{"Success":true,"Output":{"Major":15,"Minor":5}}')).toEqual({ major: 15, minor: 5 })
})

test.each(['', 'x', '[]', '{"Success":true}', '{"Success":true,"Output":{}}'])(
  'a version that cannot be read is no version: %j',
  (text) => {
    expect(() => parseVersion(text)).toThrow(expect.objectContaining({ name: 'HcnError', reason: 'unavailable' }))
  },
)

test('an answer that is not from HNS is an error that shows it', () => {
  expect(() => parseIds('{"a":1}')).toThrow('HNS answered with an object as a list of ids, which is not a list')
  expect(() => parseIds('["x"]')).toThrow('HNS answered with "x" as an id, which is not a GUID')
  expect(() => parseLoadBalancer(`{"ID":"${id}","PortMappings":[{"InternalPort":"http"}]}`)).toThrow(
    `HNS answered with "http" as the internal port of load balancer ${lower}, which is not a number`,
  )
  expect(() => parseEndpoint(`{"ID":"${id}","Flags":{}}`)).toThrow('which is not a number')
})

test('a name that nobody knows hides nothing else', () => {
  const text = `{"ID":"${id}","PortMappings":[{"Protocol":"Carrier pigeon","Flags":"PreserveDIP, Wings"}]}`
  expect(parseLoadBalancer(text)).toMatchObject({ protocol: 0, mappingFlags: 8 })
})
