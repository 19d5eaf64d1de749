import { describe, expect, test } from 'vitest'
import { ipSet, noIps } from '../../kpng/model/ip-set.ts'
import { Protocol } from '../../kpng/proto/generated/localv1/api.ts'
import type { PortMapping, Service } from '../../kpng/proto/generated/localv1/api.ts'
import { sampleService } from '../../kpng/testing/cluster-samples.ts'
import { serviceRecord } from './service-record.ts'

function read(changes: Partial<Service>) {
  const { record, problems } = found(serviceRecord(sampleService('demo/web', changes).service))
  expect(problems.every(({ kind, key }) => kind === 'Service' && key === 'demo/web')).toBe(true)
  return { record, problems: problems.map(({ field, reason }) => `${field}: ${reason}`) }
}

function found(parsed: ReturnType<typeof serviceRecord>) {
  if (!parsed.ok) throw new Error('no record')
  return parsed
}

const port = (changes: Partial<PortMapping>): PortMapping => ({
  Name: 'http',
  Protocol: Protocol.TCP,
  Port: 80,
  NodePort: 0,
  TargetPort: 8080,
  TargetPortName: '',
  ...changes,
})
const clientIP = (TimeoutSeconds: number) => ({ $case: 'ClientIP', value: { TimeoutSeconds } }) as const

test('the hairpin of an annotation holds, whoever the core is', () => {
  const IPs = { ClusterIPs: noIps, ExternalIPs: noIps, LoadBalancerIPs: ipSet(['203.0.113.7']), Headless: false }
  const Annotations = { 'fairlead.dev/load-balancer-hairpin': 'through' }
  expect(read({ IPs, Annotations }).record).toMatchObject({
    loadBalancerIPs: [],
    leftToLoadBalancer: { ips: ['203.0.113.7'], because: 'hairpin' },
  })
})

test('a load balancer has all that a node needs to know of it', () => {
  const { record, problems } = read({
    Type: 'LoadBalancer',
    IPs: {
      ClusterIPs: ipSet(['10.96.0.10', 'fd00::10']),
      ExternalIPs: ipSet(['192.0.2.1']),
      LoadBalancerIPs: ipSet(['203.0.113.7']),
      Headless: false,
    },
    Ports: [port({ NodePort: 30_080 }), port({ Name: 'dns', Protocol: Protocol.UDP, Port: 53 })],
    IPFilters: [{ SourceRanges: ['198.51.100.0/24'] }, { SourceRanges: [' 10.1.2.3/8'] }],
    SessionAffinity: clientIP(60),
    ExternalTrafficToLocal: true,
    InternalTrafficToLocal: true,
    HealthCheckNodePort: 31_000,
  })
  expect(problems).toEqual([])
  expect(record).toEqual({
    kind: 'Service',
    namespace: 'demo',
    name: 'web',
    type: 'LoadBalancer',
    clusterIPs: { ipv4: '10.96.0.10', ipv6: 'fd00::10' },
    ports: [
      { name: 'http', protocol: 'TCP', port: 80, nodePort: 30_080 },
      { name: 'dns', protocol: 'UDP', port: 53, nodePort: 0 },
    ],
    externalIPs: ['192.0.2.1'],
    loadBalancerIPs: ['203.0.113.7'],
    sourceRanges: [
      { family: 'ipv4', network: '198.51.100.0', prefixLength: 24 },
      { family: 'ipv4', network: '10.0.0.0', prefixLength: 8 },
    ],
    affinitySeconds: 60,
    externalTrafficPolicy: 'Local',
    internalTrafficPolicy: 'Local',
    healthCheckNodePort: 31_000,
  })
})

test('wishes for Windows nodes come with the annotations that the core passes on', () => {
  const Annotations = { 'preserve-destination': 'true', winProxyOptimization: 'disabled', other: 'true' }
  expect(read({ Annotations }).record.windows).toEqual({ preservesDestination: true, rebuilds: true })
  expect(read({ Annotations: { other: 'true' } }).record).not.toHaveProperty('windows')
})

test('so do wishes for how connections are spread', () => {
  expect(read({ Annotations: { 'fairlead.dev/algorithm': 'maglev' } }).record.traffic).toEqual({ algorithm: 'maglev' })
})

test('so do wishes for the sockets of clients', () => {
  expect(read({ Annotations: { 'fairlead.dev/socket-balancing': 'off' } }).record.sockets).toEqual({ balancing: 'off' })
  const { record, problems } = read({ Annotations: { 'fairlead.dev/socket-balancing': 'no' } })
  expect(record).not.toHaveProperty('sockets')
  expect(problems).toEqual([expect.stringContaining('metadata.annotations[fairlead.dev/socket-balancing]')])
})

test.each([
  ['a headless one', { IPs: { ClusterIPs: ipSet(['10.96.0.10']), ExternalIPs: noIps, Headless: true } }],
  ['an ExternalName', { Type: 'ExternalName' }],
  ['one without addresses', { IPs: undefined }],
])('%s has no cluster IP', (_, changes) => {
  const { record, problems } = read(changes)
  expect([record.clusterIPs, problems]).toEqual([{}, []])
})

test('one whose type is not said is a ClusterIP', () => {
  expect(read({ Type: '' }).record.type).toBe('ClusterIP')
})

describe('policy Local for traffic from outside', () => {
  const outside = { ClusterIPs: noIps, ExternalIPs: ipSet(['192.0.2.1']), Headless: false }
  test.each([
    ['counts with a node port', { Type: 'NodePort' }, 'Local'],
    ['counts with an external IP', { Type: 'ClusterIP', IPs: outside }, 'Local'],
    ['means nothing where nobody comes from outside', { Type: 'ClusterIP' }, 'Cluster'],
  ])('%s', (_, changes, policy) => {
    const { record, problems } = read({ ...changes, ExternalTrafficToLocal: true, HealthCheckNodePort: 31_000 })
    expect(record).toMatchObject({ externalTrafficPolicy: policy, healthCheckNodePort: 0 })
    expect(problems).toEqual([])
  })

  test('needs a health-check port at a load balancer', () => {
    expect(read({ Type: 'LoadBalancer', ExternalTrafficToLocal: true }).problems).toEqual([
      'spec.healthCheckNodePort: is needed by a load balancer with externalTrafficPolicy Local',
    ])
  })
})

test('of the cluster IPs the first of each family counts', () => {
  const ClusterIPs = { V4: ['10.96.0.10', '10.96.0.11'], V6: ['fd00::1', 'fd00::2'] }
  const { clusterIPs } = read({ IPs: { ClusterIPs, ExternalIPs: noIps, Headless: false } }).record
  expect(clusterIPs).toEqual({ ipv4: '10.96.0.10', ipv6: 'fd00::1' })
})

test('addresses of the machine itself are refused, wherever they stand', () => {
  const { record, problems } = read({
    IPs: {
      ClusterIPs: { V4: ['169.254.0.1', '10.96.0.10'], V6: [] },
      ExternalIPs: { V4: ['192.0.2.1'], V6: ['::1'] },
      LoadBalancerIPs: { V4: ['127.0.0.1'], V6: [] },
      Headless: false,
    },
  })
  expect(record).toMatchObject({ clusterIPs: { ipv4: '10.96.0.10' }, externalIPs: ['192.0.2.1'], loadBalancerIPs: [] })
  expect(problems).toEqual([
    'spec.clusterIPs[0]: "169.254.0.1" is a link-local address, which nobody may have as a cluster IP',
    'spec.externalIPs[1]: "::1" is a loopback address, which nobody may have as an external IP',
    'status.loadBalancer.ingress[0]: "127.0.0.1" is a loopback address, which nobody may have as a load-balancer IP',
  ])
})

test('addresses become canonical, so that equal ones are the same', () => {
  const ExternalIPs = { V4: ['010.1.0.1'], V6: ['FD00:0::9'] }
  const { externalIPs } = read({ IPs: { ClusterIPs: noIps, ExternalIPs, Headless: false } }).record
  expect(externalIPs).toEqual(['10.1.0.1', 'fd00::9'])
})

test('a port of an unknown protocol is left out', () => {
  const { record, problems } = read({ Ports: [port({ Protocol: Protocol.UnknownProtocol }), port({ Name: 'good' })] })
  expect(record.ports.map(({ name }) => name)).toEqual(['good'])
  expect(problems).toEqual(['spec.ports[0].protocol: must be one of TCP, UDP, SCTP, not "UnknownProtocol"'])
})

test('of two ports with the same name and protocol the last one counts', () => {
  const { record, problems } = read({ Ports: [port({ Port: 80 }), port({ Port: 81 })] })
  expect(record.ports.map(({ port: number }) => number)).toEqual([81])
  expect(problems).toEqual(['spec.ports[1]: repeats port name "http" for TCP; the last one is used'])
})

test('a time of affinity that the API would refuse becomes the usual one', () => {
  for (const good of [1, 86_400])
    expect(read({ SessionAffinity: clientIP(good) })).toMatchObject({ record: { affinitySeconds: good }, problems: [] })
  for (const bad of [-1, 0, 86_401])
    expect(read({ SessionAffinity: clientIP(bad) })).toMatchObject({
      record: { affinitySeconds: 10_800 },
      problems: [
        `spec.sessionAffinityConfig.clientIP.timeoutSeconds: must be a whole number from 1 to 86400, not ${bad}`,
      ],
    })
})
