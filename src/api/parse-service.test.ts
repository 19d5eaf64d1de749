import { describe, expect, test } from 'vitest'
import { rawService, record } from '../core/testing/objects.ts'
import { problemsOf } from './testing/problems-of.ts'

const port80 = { port: 80, protocol: 'TCP' }

describe('a Service', () => {
  const parse = (spec: object, status = {}) =>
    record('Service', rawService('demo/web', { ports: [port80], ...spec }, status))

  test.each([
    ['headless', { clusterIP: 'None' }],
    ['without an address', { clusterIP: '' }],
    ['ExternalName, even with an address', { type: 'ExternalName', clusterIP: '10.0.0.1', externalName: 'a.example' }],
  ])('that is %s has no cluster IP to proxy', (_, spec) => {
    expect(parse(spec).clusterIPs).toEqual({})
    expect(problemsOf('Service', rawService('demo/web', spec))).toEqual([])
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
    expect(record('Service', swapped).clusterIPs).toStrictEqual({ ipv6: 'fd00::2' })
    expect(problemsOf('Service', swapped)).toEqual([
      'spec.clusterIPs[0]: "fd00::1" is not of the family in spec.ipFamilies[0]',
    ])
    const nonsense = rawService('demo/web', { ...both, clusterIPs: ['10.0.0.1', 'x'] })
    expect(record('Service', nonsense).clusterIPs).toStrictEqual({ ipv4: '10.0.0.1' })
    expect(problemsOf('Service', nonsense)).toEqual(['spec.clusterIPs[1]: "x" is not an IP address'])
    expect(problemsOf('Service', rawService('demo/web', { clusterIP: 'x' }))).toEqual([
      'spec.clusterIP: "x" is not an IP address',
    ])
    const twice = { ...both, ipFamilies: ['IPv4', 'IPv4'], clusterIPs: ['10.0.0.1', '10.0.0.2'] }
    expect(parse(twice).clusterIPs).toStrictEqual({ ipv4: '10.0.0.1' })
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
    expect(parsed.leftToLoadBalancer).toEqual({ ips: ['192.0.2.3'], because: 'ipMode' })
  })

  test.each([
    [undefined, ['192.0.2.1'], undefined],
    ['local', ['192.0.2.1'], undefined],
    ['through', [], { ips: ['192.0.2.1'], because: 'hairpin' }],
  ])('with the load-balancer hairpin %s nodes serve %j', (hairpin, served, left) => {
    const raw = balanced(hairpin, [{ ip: '192.0.2.1' }])
    expect(record('Service', raw).loadBalancerIPs).toEqual(served)
    expect(record('Service', raw).leftToLoadBalancer).toEqual(left)
    expect(problemsOf('Service', raw)).toEqual([])
  })

  test('a hairpin that nobody knows is named, and changes nothing', () => {
    const raw = balanced('yes', [{ ip: '192.0.2.1' }, { ip: '192.0.2.3', ipMode: 'Proxy' }])
    expect(record('Service', raw).loadBalancerIPs).toEqual(['192.0.2.1'])
    expect(record('Service', raw).leftToLoadBalancer).toEqual({ ips: ['192.0.2.3'], because: 'ipMode' })
    expect(problemsOf('Service', raw)).toEqual([
      'metadata.annotations[fairlead.dev/load-balancer-hairpin]: must be one of local, through, not "yes"',
    ])
  })

  const balanced = (hairpin: string | undefined, ingress: readonly object[]) =>
    rawService(
      'demo/web',
      { clusterIP: '10.0.0.1', ports: [port80] },
      { loadBalancer: { ingress } },
      hairpin === undefined ? {} : { annotations: { 'fairlead.dev/load-balancer-hairpin': hairpin } },
    )

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
    expect(made('1970-01-01T00:00:00Z')).toBe(0)
    for (const unknown of [undefined, null, '', 'yesterday', 5, '1969-12-31T23:59:59Z'])
      expect(made(unknown)).toBeUndefined()
  })

  test('has an external policy Local only when its type can be reached from outside', () => {
    const local = { clusterIP: '10.0.0.1', externalTrafficPolicy: 'Local' }
    expect(parse(local).externalTrafficPolicy).toBe('Cluster')
    expect(parse({ ...local, externalIPs: [] }).externalTrafficPolicy).toBe('Cluster')
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
    const timed = (timeoutSeconds: unknown) => ({ ...sticky, sessionAffinityConfig: { clientIP: { timeoutSeconds } } })
    for (const good of [1, 86_400, null, undefined])
      expect(problemsOf('Service', rawService('demo/web', timed(good)))).toEqual([])
    for (const bad of [0, 86_401]) {
      expect(parse(timed(bad)).affinitySeconds).toBe(10_800)
      expect(problemsOf('Service', rawService('demo/web', timed(bad)))).toEqual([
        `spec.sessionAffinityConfig.clientIP.timeoutSeconds: must be a whole number from 1 to 86400, not ${bad}`,
      ])
    }
  })

  test('says by annotation how the userspace mode shall carry it', () => {
    const annotated = (annotations: Readonly<Record<string, string>>) => ({
      metadata: { namespace: 'demo', name: 'web', annotations },
      spec: { ports: [port80] },
    })
    const wishes = { 'fairlead.dev/proxy-protocol': 'v2', 'fairlead.dev/client-address': 'node' }
    const { relaying } = record('Service', annotated(wishes))
    expect(relaying).toEqual({ clientAddress: 'node', proxyProtocol: 'v2' })
    expect(record('Service', annotated({ 'fairlead.dev/proxy-protocol': 'v1' })).relaying).toEqual({
      proxyProtocol: 'v1',
    })
    const transparent = annotated({ 'fairlead.dev/client-address': 'transparent' })
    expect(record('Service', transparent).relaying).toEqual({ clientAddress: 'transparent' })
    expect(record('Service', annotated({ 'fairlead.dev/client-address': 'auto' })).relaying).toBeUndefined()
    expect(problemsOf('Service', annotated({ 'fairlead.dev/proxy-protocol': 'v3' }))).toEqual([
      'metadata.annotations[fairlead.dev/proxy-protocol]: must be one of none, v1, v2, not "v3"',
    ])
    expect(problemsOf('Service', annotated({ 'fairlead.dev/client-address': 'yes' }))).toEqual([
      'metadata.annotations[fairlead.dev/client-address]: must be one of auto, node, transparent, not "yes"',
    ])
  })

  test.each([
    [{}, undefined],
    [{ 'fairlead.dev/socket-balancing': 'off' }, { balancing: 'off' }],
    [{ 'fairlead.dev/socket-balancing': 'on' }, undefined],
  ])('annotations %j wish %j at the sockets of clients', (annotations, wishes) => {
    const raw = rawService('demo/web', { ports: [port80] }, {}, { annotations })
    expect(record('Service', raw).sockets).toEqual(wishes)
    expect(problemsOf('Service', raw)).toEqual([])
  })

  test('names a wish at the sockets of clients that nobody knows', () => {
    const annotations = { 'fairlead.dev/socket-balancing': 'false' }
    const raw = rawService('demo/web', { ports: [port80] }, {}, { annotations })
    expect(record('Service', raw).sockets).toBeUndefined()
    expect(problemsOf('Service', raw)).toEqual([
      'metadata.annotations[fairlead.dev/socket-balancing]: must be one of on, off, not "false"',
    ])
  })

  test.each([
    [{}, undefined],
    [{ 'preserve-destination': 'true' }, { preservesDestination: true }],
    [{ 'preserve-destination': 'True' }, undefined],
    [{ winProxyOptimization: 'Disabled' }, { rebuilds: true }],
    [{ winProxyOptimization: 'enabled' }, undefined],
    [
      { 'preserve-destination': 'true', winProxyOptimization: 'DISABLED' },
      { preservesDestination: true, rebuilds: true },
    ],
  ])('annotations %j wish %j of a Windows node', (annotations, wishes) => {
    const raw = rawService('demo/web', { ports: [port80] }, {}, { annotations })
    expect(record('Service', raw).windows).toEqual(wishes)
    expect(problemsOf('Service', raw)).toEqual([])
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

test('a port whose name could break out of a rule is left out', () => {
  const raw = rawService('demo/web', {
    clusterIP: '10.0.0.1',
    ports: [{ name: 'a" -j ACCEPT', port: 1 }, { port: 80 }],
  })
  expect(record('Service', raw).ports.map(({ port }) => port)).toEqual([80])
})
