import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { rawNode, rawService, record } from '../core/testing/objects.ts'
import { renderCidr } from '../net/ip.ts'
import { parseObject } from './parse.ts'
import { objectKinds } from './records.ts'
import type { ObjectKind } from './records.ts'
import { problemsOf } from './testing/problems-of.ts'

test('an object says what it is named, where it must be and which version it has', () => {
  const metadata = { namespace: 'demo', name: 'web', resourceVersion: '7' }
  expect(parseObject('Service', { metadata })).toMatchObject({
    ok: true,
    record: { kind: 'Service', namespace: 'demo', name: 'web' },
    resourceVersion: '7',
  })
  for (const resourceVersion of [7, '', undefined])
    expect(parseObject('Service', { metadata: { ...metadata, resourceVersion } })).not.toHaveProperty('resourceVersion')
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

test('an object has a name of up to 253 characters', () => {
  const named = (length: number) => parseObject('Node', { metadata: { name: 'x'.repeat(length) } }).ok
  expect([named(1), named(253), named(254)]).toEqual([true, true, false])
})

test('a problem says whose it is', () => {
  const metadata = { namespace: 'demo', name: 'web' }
  const whose = (kind: ObjectKind) => parseObject(kind, { metadata, spec: 7 }).problems.map(({ key }) => key)
  expect(whose('Service')).toEqual(['demo/web'])
  expect(whose('Node')).toEqual(['web'])
})

describe('a Node', () => {
  const ips = (addresses: object[]) => record('Node', rawNode('n', { status: { addresses } })).ips

  test('is known by its first internal address and the first of the other family', () => {
    const internal = (address: string) => ({ type: 'InternalIP', address })
    const external = (address: string) => ({ type: 'ExternalIP', address })
    expect(ips([external('192.0.2.1'), internal('10.0.0.1'), internal('10.0.0.2')])).toEqual(['10.0.0.1'])
    expect(ips([internal('fd00::1'), internal('10.0.0.1')])).toEqual(['fd00::1', '10.0.0.1'])
    expect(ips([internal('10.0.0.1'), external('2001:db8::1')])).toEqual(['10.0.0.1', '2001:db8::1'])
    expect(ips([external('192.0.2.1')])).toEqual(['192.0.2.1'])
  })

  test('has further addresses, each once, if there are any', () => {
    const addresses = ['10.0.0.1', 'fd00::1', '10.0.0.2', '10.0.0.2', '10.0.0.1']
    const internal = addresses.map((address) => ({ type: 'InternalIP', address }))
    const parsed = (list: readonly object[]) => record('Node', rawNode('n', { status: { addresses: list } }))
    const external = { type: 'ExternalIP', address: '192.0.2.1' }
    expect(parsed([external, ...internal])).toMatchObject({
      ips: ['10.0.0.1', 'fd00::1'],
      otherIps: ['10.0.0.2', '192.0.2.1'],
    })
    expect(parsed(internal.slice(0, 2))).not.toHaveProperty('otherIps')
  })

  test('has no address of another type, whatever it says', () => {
    const raw = rawNode('n', {
      status: { addresses: ['n', '10.0.0.9'].map((address) => ({ type: 'Hostname', address })) },
    })
    expect([record('Node', raw).ips, problemsOf('Node', raw)]).toEqual([[], []])
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

describe('a Namespace', () => {
  const raw = (annotations: unknown) => ({ metadata: { name: 'shop', annotations } })
  const guard = (text: unknown) => raw({ 'fairlead.dev/external-ip-guard': text })
  const ranges = (text: unknown) => raw({ 'fairlead.dev/external-ip-cidrs': text })

  test('says how its addresses are guarded', () => {
    expect(record('Namespace', raw(undefined))).toEqual({ kind: 'Namespace', name: 'shop' })
    for (const mode of ['warn', 'deny', 'off'])
      expect(record('Namespace', guard(` ${mode}`))).toMatchObject({ externalIPGuard: mode })
    const cidrs = (text: string) => record('Namespace', ranges(text)).externalIPCidrs?.map(renderCidr)
    expect(cidrs('192.0.2.0/24, 2001:db8::/64')).toEqual(['192.0.2.0/24', '2001:db8::/64'])
    expect([cidrs('none'), cidrs(' ')]).toEqual([[], undefined])
  })

  test('with a guard that cannot be read is guarded as the others; a range that cannot be read allows nothing', () => {
    expect(record('Namespace', guard('refuse'))).toEqual({ kind: 'Namespace', name: 'shop' })
    expect(problemsOf('Namespace', guard('refuse'))).toEqual([
      'metadata.annotations[fairlead.dev/external-ip-guard]: must be one of warn, deny, off, not "refuse"',
    ])
    expect(record('Namespace', ranges('192.0.2.1')).externalIPCidrs).toEqual([])
    expect(record('Namespace', ranges('x,192.0.2.0/24')).externalIPCidrs).toHaveLength(1)
    expect(problemsOf('Namespace', ranges('192.0.2.1'))).toEqual([
      'metadata.annotations[fairlead.dev/external-ip-cidrs]: "192.0.2.1" is not a CIDR and allows nothing; write ranges such as 192.0.2.0/24, or none',
    ])
    expect(problemsOf('Namespace', guard(7))).toHaveLength(1)
  })
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
    ['guard', 'Namespace', { metadata: { name: 'shop', annotations: { 'fairlead.dev/external-ip-guard': huge } } }],
    ['ranges', 'Namespace', { metadata: { name: 'shop', annotations: { 'fairlead.dev/external-ip-cidrs': huge } } }],
  ])('is no line of a megabyte: %s', (_, kind, raw) => {
    const { problems } = parseObject(kind, raw)
    expect(problems).not.toEqual([])
    for (const { key, field, reason } of problems) expect(`${key} ${field} ${reason}`.length).toBeLessThan(1_000)
  })
})
