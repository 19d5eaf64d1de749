import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { rawNode, rawService, rawSlice, record } from '../core/testing/objects.ts'
import { parseObject } from './parse.ts'
import { objectKinds } from './records.ts'
import type { ObjectKind } from './records.ts'

const port80 = { port: 80, protocol: 'TCP' }

function problemsOf(kind: ObjectKind, raw: unknown): string[] {
  return parseObject(kind, raw).problems.map(({ field, reason }) => `${field}: ${reason}`)
}

describe('a Service', () => {
  const parse = (spec: object, status = {}) =>
    record('Service', rawService('demo/web', { ports: [port80], ...spec }, status))

  test.each([
    ['headless', { clusterIP: 'None' }],
    ['without an address', { clusterIP: '' }],
    ['ExternalName, even with an address', { type: 'ExternalName', clusterIP: '10.0.0.1', externalName: 'a.example' }],
  ])('that is %s has no cluster IP to proxy', (_, spec) => {
    expect(parse(spec).clusterIPs).toEqual({})
  })

  test('from before dual stack belongs to the family of its address', () => {
    expect(parse({ clusterIP: 'fd00::0:1' }).clusterIPs).toEqual({ ipv6: 'fd00::1' })
    expect(parse({ clusterIP: '10.0.0.1' }).clusterIPs).toEqual({ ipv4: '10.0.0.1' })
  })

  test('with two families gives each the address at its index', () => {
    const spec = { clusterIP: 'fd00::1', clusterIPs: ['fd00::1', '10.0.0.1'], ipFamilies: ['IPv6', 'IPv4'] }
    expect(parse(spec).clusterIPs).toEqual({ ipv6: 'fd00::1', ipv4: '10.0.0.1' })
    expect(parse({ ...spec, clusterIPs: ['fd00::1'] }).clusterIPs).toEqual({ ipv6: 'fd00::1' })
  })

  test('loses only the cluster IP that is wrong', () => {
    const both = { ports: [port80], clusterIP: '10.0.0.1', ipFamilies: ['IPv4', 'IPv6'] }
    const swapped = rawService('demo/web', { ...both, clusterIPs: ['fd00::1', 'fd00::2'] })
    expect(record('Service', swapped).clusterIPs).toEqual({ ipv6: 'fd00::2' })
    expect(problemsOf('Service', swapped)).toEqual([
      'spec.clusterIPs[0]: "fd00::1" is not of the family in spec.ipFamilies[0]',
    ])
    const nonsense = rawService('demo/web', { ...both, clusterIPs: ['10.0.0.1', 'x'] })
    expect(record('Service', nonsense).clusterIPs).toEqual({ ipv4: '10.0.0.1' })
    expect(problemsOf('Service', nonsense)).toEqual(['spec.clusterIPs[1]: "x" is not an IP address'])
    expect(problemsOf('Service', rawService('demo/web', { clusterIP: 'x' }))).toEqual([
      'spec.clusterIP: "x" is not an IP address',
    ])
    const twice = { ...both, ipFamilies: ['IPv4', 'IPv4'], clusterIPs: ['10.0.0.1', '10.0.0.2'] }
    expect(parse(twice).clusterIPs).toEqual({ ipv4: '10.0.0.1' })
  })

  test('keeps good external IPs, skips blank ones in silence and reports bad ones', () => {
    const raw = rawService('demo/web', {
      clusterIP: '10.0.0.1',
      ports: [port80],
      externalIPs: ['192.0.2.1', '', '  ', 'nonsense', 'fd00::0:9'],
    })
    expect(record('Service', raw).externalIPs).toEqual(['192.0.2.1', 'fd00::9'])
    expect(problemsOf('Service', raw)).toEqual(['spec.externalIPs[3]: "nonsense" is not an IP address'])
  })

  test('uses load-balancer addresses of mode VIP or none, never hostnames or spec.loadBalancerIP', () => {
    const ingress = [
      { ip: '192.0.2.1' },
      { ip: '192.0.2.2', ipMode: 'VIP' },
      { ip: '192.0.2.3', ipMode: 'Proxy' },
      { hostname: 'lb.example' },
    ]
    const parsed = parse({ clusterIP: '10.0.0.1', loadBalancerIP: '192.0.2.9' }, { loadBalancer: { ingress } })
    expect(parsed.loadBalancerIPs).toEqual(['192.0.2.1', '192.0.2.2'])
  })

  test('trims source ranges and drops unreadable ones', () => {
    const raw = rawService('demo/web', { loadBalancerSourceRanges: [' 10.1.2.0/28', 'x', '10.9.9.9/8'] })
    expect(record('Service', raw).sourceRanges.map(({ network }) => network)).toEqual(['10.1.2.0', '10.0.0.0'])
    expect(record('Service', raw).hasUnreadableSourceRange).toBe(true)
    expect(problemsOf('Service', raw)).toEqual([
      'spec.loadBalancerSourceRanges[1]: "x" is not a CIDR such as 10.0.0.0/8; it allows nobody to use the load-balancer IPs',
    ])
  })

  test.each([
    ['no ranges', undefined, undefined],
    ['null', null, undefined],
    ['an empty list', [], undefined],
    ['good ranges', ['10.0.0.0/8', 'fd00::/64'], undefined],
    ['a text instead of a list', '10.0.0.0/8', true],
    ['a number instead of a list', 10, true],
    ['an entry that is not a text', [10], true],
    ['an empty text', ['10.0.0.0/8', ''], true],
  ])('knows whether a source range cannot be read: %s', (_, loadBalancerSourceRanges, isUnreadable) => {
    const raw = rawService('demo/web', { loadBalancerSourceRanges })
    expect(record('Service', raw).hasUnreadableSourceRange).toBe(isUnreadable)
    expect(problemsOf('Service', raw).length > 0).toBe(isUnreadable === true)
  })

  test.each([
    '127.0.0.1',
    '0.0.0.0',
    '169.254.169.254',
    '224.0.0.1',
    '239.1.2.3',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'ff02::1',
    'ff05::2',
    '::ffff:169.254.169.254',
  ])('has no address that belongs to the machine itself: %s', (ip) => {
    const spec = { clusterIP: '10.0.0.1', ports: [port80], externalIPs: [ip, '192.0.2.1'] }
    const raw = rawService('demo/web', spec, { loadBalancer: { ingress: [{ ip: '192.0.2.2' }, { ip }] } })
    expect(record('Service', raw)).toMatchObject({ externalIPs: ['192.0.2.1'], loadBalancerIPs: ['192.0.2.2'] })
    const [first, second, ...rest] = problemsOf('Service', raw)
    expect(first).toMatch(/^spec\.externalIPs\[0\]: ".+" is an? .+ address, which nobody may have as an external IP$/)
    expect(second).toMatch(/^status\.loadBalancer\.ingress\[1\]: /)
    expect(rest).toEqual([])
  })

  test('has no such cluster IP either; one on loopback is left to the modes', () => {
    expect(parse({ clusterIP: '169.254.169.254' }).clusterIPs).toEqual({})
    expect(parse({ clusterIP: 'fe80::1', clusterIPs: ['fe80::1'], ipFamilies: ['IPv6'] }).clusterIPs).toEqual({})
    expect(parse({ clusterIP: '127.0.0.5' }).clusterIPs).toEqual({ ipv4: '127.0.0.5' })
  })

  test('knows when it was made, if the object says so', () => {
    const made = (creationTimestamp: unknown) =>
      record('Service', rawService('demo/web', {}, {}, { creationTimestamp })).createdAtMs
    expect(made('2026-01-02T03:04:05Z')).toBe(Date.UTC(2026, 0, 2, 3, 4, 5))
    for (const unknown of [undefined, null, '', 'yesterday', 5]) expect(made(unknown)).toBeUndefined()
  })

  test('has an external policy Local only when its type can be reached from outside', () => {
    const local = { clusterIP: '10.0.0.1', externalTrafficPolicy: 'Local' }
    expect(parse(local).externalTrafficPolicy).toBe('Cluster')
    expect(parse({ ...local, externalIPs: ['fd00::9'] }).externalTrafficPolicy).toBe('Local')
    expect(parse({ ...local, type: 'NodePort' }).externalTrafficPolicy).toBe('Local')
    expect(parse({ ...local, type: 'LoadBalancer', healthCheckNodePort: 1 }).externalTrafficPolicy).toBe('Local')
    const elsewhere = { ...local, type: 'ExternalName', externalIPs: ['192.0.2.1'] }
    expect(parse(elsewhere).externalTrafficPolicy).toBe('Cluster')
  })

  test('has a health-check port only as a load balancer with policy Local', () => {
    const spec = { clusterIP: '10.0.0.1', externalTrafficPolicy: 'Local', healthCheckNodePort: 345 }
    expect(parse({ ...spec, type: 'LoadBalancer' }).healthCheckNodePort).toBe(345)
    expect(parse({ ...spec, type: 'NodePort' }).healthCheckNodePort).toBe(0)
    const cluster = { ...spec, type: 'LoadBalancer', externalTrafficPolicy: 'Cluster' }
    expect(parse(cluster).healthCheckNodePort).toBe(0)
    expect(problemsOf('Service', rawService('a/b', { ...spec, type: 'LoadBalancer' }))).toEqual([])
    expect(problemsOf('Service', rawService('a/b', { ...spec, type: 'LoadBalancer', healthCheckNodePort: 0 }))).toEqual(
      ['spec.healthCheckNodePort: is needed by a load balancer with externalTrafficPolicy Local'],
    )
  })

  test('keeps clients for the seconds it says, or for three hours', () => {
    const sticky = { sessionAffinity: 'ClientIP' }
    expect(parse(sticky).affinitySeconds).toBe(10_800)
    expect(parse({ ...sticky, sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } }).affinitySeconds).toBe(5)
    expect(parse({ sessionAffinity: 'None' }).affinitySeconds).toBe(0)
  })

  test('says by annotation how the userspace mode shall carry it', () => {
    const annotated = (annotations: Readonly<Record<string, string>>) => ({
      metadata: { namespace: 'demo', name: 'web', annotations },
      spec: { ports: [port80] },
    })
    const wishes = { 'fairlead.dev/balancing': 'least-connections', 'fairlead.dev/proxy-protocol': 'v2' }
    const { relaying } = record('Service', annotated(wishes))
    expect(relaying).toEqual({ balancing: 'least-connections', proxyProtocol: 'v2' })
    expect(record('Service', annotated({ 'fairlead.dev/balancing': 'round-robin' })).relaying).toBeUndefined()
    const transparent = annotated({ 'fairlead.dev/client-address': 'transparent' })
    expect(record('Service', transparent).relaying).toEqual({ clientAddress: 'transparent' })
    expect(record('Service', annotated({ 'fairlead.dev/client-address': 'node' })).relaying).toBeUndefined()
    expect(problemsOf('Service', annotated({ 'fairlead.dev/proxy-protocol': 'v3' }))).toEqual([
      'metadata.annotations[fairlead.dev/proxy-protocol]: must be one of none, v1, v2, not "v3"',
    ])
    expect(problemsOf('Service', annotated({ 'fairlead.dev/client-address': 'yes' }))).toEqual([
      'metadata.annotations[fairlead.dev/client-address]: must be one of node, transparent, not "yes"',
    ])
  })

  test('has its ports with name, protocol and node port; of repeated ones the last', () => {
    const raw = rawService('demo/web', {
      ports: [
        { name: 'a', port: 80, nodePort: 30_080 },
        { name: 'a', port: 81, protocol: 'UDP' },
        { name: 'b', port: 65_535, protocol: null, nodePort: 65_535 },
        { name: 'a', port: 82, protocol: 'TCP' },
        { name: 'c', port: 83, nodePort: 65_536 },
      ],
    })
    expect(record('Service', raw).ports).toEqual([
      { name: 'a', protocol: 'TCP', port: 82, nodePort: 0 },
      { name: 'a', protocol: 'UDP', port: 81, nodePort: 0 },
      { name: 'b', protocol: 'TCP', port: 65_535, nodePort: 65_535 },
      { name: 'c', protocol: 'TCP', port: 83, nodePort: 0 },
    ])
    expect(problemsOf('Service', raw)).toEqual([
      'spec.ports[3]: repeats port name "a" for TCP; the last one is used',
      'spec.ports[4].nodePort: must be a whole number from 0 to 65535, not 65536',
    ])
  })

  test('loses only the port that is wrong', () => {
    const raw = rawService('demo/web', { ports: [{ port: 0 }, { port: 53, protocol: 'QUIC' }, { port: 80 }, 7] })
    expect(record('Service', raw).ports).toEqual([{ name: '', protocol: 'TCP', port: 80, nodePort: 0 }])
    expect(problemsOf('Service', raw)).toEqual([
      'spec.ports[0].port: must be a whole number from 1 to 65535, not 0',
      'spec.ports[1].protocol: must be one of TCP, UDP, SCTP, not "QUIC"',
      'spec.ports[3]: must be an object, not 7',
    ])
  })
})

test('an object says what it is named, where it must be and which version it has', () => {
  const metadata = { namespace: 'demo', name: 'web', resourceVersion: '7' }
  expect(parseObject('Service', { metadata })).toMatchObject({
    ok: true,
    record: { kind: 'Service', namespace: 'demo', name: 'web', resourceVersion: '7' },
  })
  expect(parseObject('Service', { metadata: { ...metadata, resourceVersion: 7 } })).toMatchObject({
    record: { resourceVersion: '' },
  })
  expect(parseObject('Node', { metadata: { name: 'here' } })).toMatchObject({ ok: true, record: { name: 'here' } })
  const reason = 'must be a name of letters, digits, "-" and ".", not missing'
  expect(parseObject('Service', { metadata: { name: 'web' } })).toEqual({
    ok: false,
    key: undefined,
    problems: [{ kind: 'Service', key: 'web', field: 'metadata.namespace', reason }],
  })
  for (const unnamed of [{ metadata: { namespace: 'demo' } }, { metadata: [] }, {}, [], null, 'web'])
    expect(parseObject('Service', unnamed)).toEqual({
      ok: false,
      key: undefined,
      problems: [{ kind: 'Service', key: 'missing', field: 'metadata.name', reason }],
    })
  expect(parseObject('EndpointSlice', { metadata })).toMatchObject({ ok: false, key: 'demo/web' })
})

test.each(['', 'a"b', 'a\nb', 'a b', '-a', '../x', 'é', 7])('an object named %j is refused', (name) => {
  expect(parseObject('Service', { metadata: { namespace: 'demo', name }, spec: {} }).ok).toBe(false)
  expect(parseObject('Service', { metadata: { namespace: name, name: 'web' }, spec: {} }).ok).toBe(false)
})

test('a port whose name could break out of a rule is left out', () => {
  const raw = rawService('demo/web', {
    clusterIP: '10.0.0.1',
    ports: [{ name: 'a" -j ACCEPT', port: 1 }, { port: 80 }],
  })
  expect(record('Service', raw).ports.map(({ port }) => port)).toEqual([80])
})

describe('an EndpointSlice', () => {
  test('is serving and ready where the controller says nothing', () => {
    const [endpoint] = record('EndpointSlice', rawSlice('demo/web-1', 'web', ['10.0.0.1'])).endpoints
    expect(endpoint).toMatchObject({ ready: true, serving: true, terminating: false, zoneHints: [], nodeHints: [] })
  })

  test('uses the first address only, in canonical form', () => {
    const endpoints = [{ addresses: ['010.000.000.001', '10.0.0.2'] }]
    expect(record('EndpointSlice', rawSlice('demo/web-1', 'web', endpoints)).endpoints[0]?.ip).toBe('10.0.0.1')
  })

  test('loses only what is wrong in it', () => {
    const raw = rawSlice(
      'demo/web-1',
      'web',
      [{ addresses: [] }, '10.0.0.1', { addresses: ['10.0.0.400'] }],
      [{ port: 1 }, { name: 'a' }, { name: 'b', port: 0 }, { name: '', port: 8080 }],
    )
    const parsed = record('EndpointSlice', raw)
    expect(parsed.ports).toEqual([{ name: '', protocol: 'TCP', port: 8080 }])
    expect(parsed.endpoints.map(({ ip }) => ip)).toEqual(['10.0.0.1'])
    expect(problemsOf('EndpointSlice', raw)).toHaveLength(5)
  })

  test('without the name of its Service, or with host names for addresses, is skipped with the reason', () => {
    const orphan = rawSlice('demo/web-1', '', ['10.0.0.1'])
    expect(parseObject('EndpointSlice', orphan).ok).toBe(false)
    expect(problemsOf('EndpointSlice', orphan)).toEqual([
      'metadata.labels["kubernetes.io/service-name"]: must name the Service this slice belongs to',
    ])
    const names = rawSlice('demo/web-1', 'web', ['a.example'], [80], { addressType: 'FQDN' })
    expect(problemsOf('EndpointSlice', names)).toEqual(['addressType: only IPv4 and IPv6 can be proxied'])
  })

  test('has the conditions, the node and the hints that it says, each hint once', () => {
    const zones = [{ name: 'a' }, { name: 'b' }, { name: 'a' }]
    const said = {
      addresses: ['10.0.0.1'],
      nodeName: 'here',
      conditions: { ready: false, serving: false, terminating: true },
      hints: { forZones: zones, forNodes: [{ name: 'here' }] },
    }
    const silent = {
      addresses: ['10.0.0.2'],
      nodeName: null,
      conditions: null,
      hints: { forZones: null, forNodes: [] },
    }
    const raw = rawSlice('demo/web-1', 'web', [said, silent])
    expect(record('EndpointSlice', raw).endpoints).toEqual([
      {
        ip: '10.0.0.1',
        nodeName: 'here',
        ready: false,
        serving: false,
        terminating: true,
        zoneHints: ['a', 'b'],
        nodeHints: ['here'],
      },
      { ip: '10.0.0.2', nodeName: '', ready: true, serving: true, terminating: false, zoneHints: [], nodeHints: [] },
    ])
    expect(problemsOf('EndpointSlice', raw)).toEqual([])
  })

  test('has no endpoint of the other family, nor one that no pod can have', () => {
    const raw = (addressType: string, ...ips: string[]) => rawSlice('demo/web-1', 'web', ips, [80], { addressType })
    const six = raw('IPv6', 'fd00::1', '10.0.0.1')
    expect(record('EndpointSlice', six)).toMatchObject({ family: 'ipv6', endpoints: [{ ip: 'fd00::1' }] })
    expect(problemsOf('EndpointSlice', six)).toEqual([
      'endpoints[1].addresses[0]: must be an IPv6 address, not "10.0.0.1"',
    ])
    const four = raw('IPv4', '169.254.1.1', '127.0.0.1', 'fd00::1')
    expect(record('EndpointSlice', four)).toMatchObject({ family: 'ipv4', endpoints: [{ ip: '127.0.0.1' }] })
    expect(problemsOf('EndpointSlice', four)).toEqual([
      'endpoints[0].addresses[0]: "169.254.1.1" is a link-local address, which nobody may have as an endpoint',
      'endpoints[2].addresses[0]: must be an IPv4 address, not "fd00::1"',
    ])
  })

  test('has the ports whose number and protocol it can read', () => {
    const ports = [
      { name: 'a', port: 53, protocol: 'UDP' },
      { name: 'b', port: 54, protocol: 'QUIC' },
      { name: 'c', port: 70_000 },
      { name: 'd', port: null },
      { name: 'e', port: 55, protocol: null },
    ]
    const raw = rawSlice('demo/web-1', 'web', [], ports)
    expect(record('EndpointSlice', raw).ports).toEqual([
      { name: 'a', protocol: 'UDP', port: 53 },
      { name: 'e', protocol: 'TCP', port: 55 },
    ])
    expect(problemsOf('EndpointSlice', raw)).toEqual([
      'ports[1].protocol: must be one of TCP, UDP, SCTP, not "QUIC"',
      'ports[2].port: must be a whole number from 1 to 65535, not 70000',
      'ports[3].port: must be a number: a port that means "all ports" cannot be proxied',
    ])
  })

  test('remembers when the change happened, if it is told in a form it can read', () => {
    const at = (time: string) =>
      record(
        'EndpointSlice',
        rawSlice('demo/web-1', 'web', ['10.0.0.1'], [80], {
          metadata: { annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': time } },
        }),
      ).triggerTimeMs
    expect(at('2026-01-02T03:04:05.5Z')).toBe(Date.UTC(2026, 0, 2, 3, 4, 5, 500))
    expect(at('2026-01-02T03:04:05+01:00')).toBe(Date.UTC(2026, 0, 2, 2, 4, 5))
    for (const unreadable of ['yesterday', '2026', 'on 2026-01-02T03:04:05Z', '2026-99-02T03:04:05Z'])
      expect(at(unreadable)).toBeUndefined()
  })
})

describe('a Node', () => {
  const ips = (addresses: object[]) => record('Node', rawNode('n', { status: { addresses } })).ips

  test('is known by its first internal address and the first of the other family', () => {
    const internal = (address: string) => ({ type: 'InternalIP', address })
    const external = (address: string) => ({ type: 'ExternalIP', address })
    expect(ips([external('192.0.2.1'), internal('10.0.0.1'), internal('10.0.0.2')])).toEqual(['10.0.0.1'])
    expect(ips([internal('fd00::1'), internal('10.0.0.1')])).toEqual(['fd00::1', '10.0.0.1'])
    expect(ips([internal('10.0.0.1'), external('2001:db8::1')])).toEqual(['10.0.0.1', '2001:db8::1'])
    expect(ips([{ type: 'Hostname', address: 'n' }])).toEqual([])
    expect(ips([external('192.0.2.1')])).toEqual(['192.0.2.1'])
  })

  test('has its zone, its taints, its pod CIDRs, and whether it is going', () => {
    const metadata = { name: 'n', labels: { 'topology.kubernetes.io/zone': 'zone-a' } }
    const spec = { taints: [{ key: 'a' }, { key: 'b' }], podCIDRs: ['10.1.2.3/16', 'fd00::/64'] }
    const going = { ...metadata, deletionTimestamp: '2026-01-02T03:04:05Z' }
    const staying = { zone: 'zone-a', taintKeys: ['a', 'b'], podCIDRs: ['10.1.0.0/16', 'fd00::/64'] }
    expect(record('Node', rawNode('n', { metadata, spec }))).toMatchObject({ ...staying, isBeingDeleted: false })
    expect(record('Node', rawNode('n', { metadata: going, spec }))).toMatchObject({ ...staying, isBeingDeleted: true })
    const notGoing = { ...metadata, deletionTimestamp: null }
    expect(record('Node', rawNode('n', { metadata: notGoing }))).toMatchObject({
      isBeingDeleted: false,
      taintKeys: [],
      podCIDRs: [],
    })
  })

  test('loses only the addresses that are wrong', () => {
    const addresses = [
      { type: 'InternalIP', address: 'x' },
      { type: 'InternalIP', address: '10.0.0.1' },
    ]
    const raw = rawNode('n', { spec: { podCIDRs: ['y', '10.1.0.0/16'] }, status: { addresses } })
    expect(record('Node', raw)).toMatchObject({ ips: ['10.0.0.1'], podCIDRs: ['10.1.0.0/16'] })
    expect(problemsOf('Node', raw).toSorted()).toEqual([
      'spec.podCIDRs[0]: "y" is not a CIDR',
      'status.addresses[0].address: "x" is not an IP address',
    ])
  })
})

test('a ServiceCIDR has the ranges that can be read', () => {
  const raw = { metadata: { name: 'kubernetes' }, spec: { cidrs: ['10.96.0.0/12', 'x', 'fd00::/112'] } }
  expect(record('ServiceCIDR', raw).cidrs.map(({ network }) => network)).toEqual(['10.96.0.0', 'fd00::'])
  expect(problemsOf('ServiceCIDR', raw)).toEqual(['spec.cidrs[1]: "x" is not a CIDR'])
})

test('a port name has up to 63 letters and digits', () => {
  const named = (name: string) => record('Service', rawService('demo/web', { ports: [{ name, port: 80 }] })).ports
  expect(named('x'.repeat(63))).toHaveLength(1)
  expect(named('x'.repeat(64))).toHaveLength(0)
  expect(named('a;b')).toHaveLength(0)
  expect(named(';b')).toHaveLength(0)
  expect(named('a;')).toHaveLength(0)
})

test('no object, however broken, makes the parser throw', () => {
  fc.assert(
    fc.property(fc.constantFrom(...objectKinds), fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (kind, a, b, c) => {
      parseObject(kind, a)
      parseObject(kind, { metadata: a, spec: b, status: c })
      const metadata = { name: 'x', namespace: 'y', labels: { 'kubernetes.io/service-name': 'z' } }
      parseObject(kind, {
        metadata,
        spec: { ports: b, clusterIPs: c, ipFamilies: b, clusterIP: '10.0.0.1' },
        status: a,
      })
      parseObject(kind, { metadata, addressType: 'IPv4', ports: a, endpoints: b })
      parseObject(kind, { metadata, addressType: 'IPv4', ports: [a], endpoints: [b, { addresses: c, hints: a }] })
    }),
    { numRuns: 500 },
  )
})

describe('a field of a megabyte', () => {
  const huge = 'x'.repeat(1 << 20)
  const metadata = { namespace: 'demo', name: 'web', labels: { 'kubernetes.io/service-name': 'web' } }

  test.each<[string, ObjectKind, unknown]>([
    ['name', 'Service', { metadata: { namespace: 'demo', name: huge } }],
    ['namespace', 'Service', { metadata: { namespace: huge, name: 'web' } }],
    ['type', 'Service', { metadata, spec: { type: huge } }],
    ['clusterIP', 'Service', { metadata, spec: { clusterIP: huge } }],
    ['clusterIPs', 'Service', { metadata, spec: { clusterIP: huge, clusterIPs: [huge], ipFamilies: ['IPv4'] } }],
    ['externalIPs', 'Service', { metadata, spec: { externalIPs: [huge] } }],
    ['ports', 'Service', { metadata, spec: { ports: huge } }],
    ['port', 'Service', { metadata, spec: { ports: [{ port: huge }] } }],
    ['port name', 'Service', { metadata, spec: { ports: [{ port: 80, name: huge }] } }],
    ['source range', 'Service', { metadata, spec: { type: 'LoadBalancer', loadBalancerSourceRanges: [huge] } }],
    ['address type', 'EndpointSlice', { metadata, addressType: huge }],
    ['address', 'EndpointSlice', { metadata, addressType: 'IPv4', endpoints: [{ addresses: [huge] }] }],
    ['node address', 'Node', { metadata, status: { addresses: [{ type: 'InternalIP', address: huge }] } }],
    ['pod CIDR', 'Node', { metadata, spec: { podCIDRs: [huge] } }],
    ['service CIDR', 'ServiceCIDR', { metadata, spec: { cidrs: [huge] } }],
  ])('is no line of a megabyte: %s', (_, kind, raw) => {
    const { problems } = parseObject(kind, raw)
    expect(problems).not.toEqual([])
    for (const { key, field, reason } of problems) expect(`${key} ${field} ${reason}`.length).toBeLessThan(1_000)
  })
})
