import { expect, test } from 'vitest'
import { Protocol } from '../../kpng/proto/generated/localv1/api.ts'
import type { Endpoint, Service } from '../../kpng/proto/generated/localv1/api.ts'
import { sampleService } from '../../kpng/testing/cluster-samples.ts'
import { sliceRecords } from './slice-records.ts'

function read(endpoints: readonly Partial<Endpoint>[], changes: Partial<Service> = {}) {
  const endpointsByKey = new Map(endpoints.map((endpoint, index) => [`pod-${index}`, { ...sample, ...endpoint }]))
  const { service } = sampleService('demo/web', changes)
  return [...sliceRecords({ service, endpointsByKey }, 'here')].map(([name, parsed]) => {
    if (!parsed.ok) throw new Error('no record')
    const problems = parsed.problems.map(({ key, field, reason }) => `${key} ${field}: ${reason}`)
    return { name, problems, record: parsed.record }
  })
}

const sample: Endpoint = {
  Hostname: '',
  IPs: { V4: ['10.1.0.1'], V6: [] },
  Local: false,
  PortOverrides: [{ Name: 'http', Port: 8080 }],
}
const v4 = (...V4: readonly string[]) => ({ V4, V6: [] })
const internal = { Internal: true, External: false }
const external = { Internal: false, External: true }

test('endpoints with the same ports are one slice of the Service; only those of this node have a node', () => {
  const [slice, ...others] = read([{ Local: true }, { IPs: v4('10.1.0.2') }])
  const state = { ready: true, serving: true, terminating: false, zoneHints: [], nodeHints: [] }
  expect(slice?.record).toEqual({
    kind: 'EndpointSlice',
    namespace: 'demo',
    name: slice?.name,
    serviceName: 'web',
    family: 'ipv4',
    ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
    endpoints: [
      { ip: '10.1.0.1', nodeName: 'here', ...state },
      { ip: '10.1.0.2', nodeName: '', ...state },
    ],
    triggerTimeMs: undefined,
  })
  expect(others).toEqual([])
})

test('each family and each set of ports has a slice of its own, with a name that stays', () => {
  const endpoints: readonly Partial<Endpoint>[] = [
    { IPs: { V4: ['10.1.0.1'], V6: ['fd00::1'] } },
    { IPs: v4('10.1.0.2'), PortOverrides: [{ Name: 'http', Port: 9090 }] },
  ]
  const slices = read(endpoints)
  expect(
    slices.map(({ record }) => [record.ports.map(({ port }) => port), record.endpoints.map(({ ip }) => ip)]),
  ).toEqual([
    [[8080], ['10.1.0.1']],
    [[9090], ['10.1.0.2']],
    [[8080], ['fd00::1']],
  ])
  const names = (all: typeof slices) => all.map(({ name }) => name)
  expect(new Set(names(slices)).size).toBe(3)
  expect(names(read([...endpoints].reverse())).sort()).toEqual(names(slices).sort())
})

test('every address of an endpoint is an endpoint', () => {
  const [slice] = read([{ IPs: v4('10.1.0.1', '10.1.0.2') }])
  expect(slice?.record.endpoints.map(({ ip }) => ip)).toEqual(['10.1.0.1', '10.1.0.2'])
})

test('an endpoint without addresses makes no slice', () => {
  expect(read([{ IPs: undefined }])).toEqual([])
})

test('an endpoint that is not for traffic within the cluster is hinted for nobody, the others for this node', () => {
  const endpoints = [{ Scopes: internal }, { Scopes: external, IPs: v4('10.1.0.2') }, { IPs: v4('10.1.0.3') }]
  const hints = (changes: Partial<Service>) => read(endpoints, changes)[0]?.record.endpoints.map((e) => e.nodeHints[0])
  expect(hints({})).toEqual(['here', '-', 'here'])
  // With policy Local for traffic within the cluster, the internal scope says only which are local.
  expect(hints({ InternalTrafficToLocal: true })).toEqual(['-', 'here', 'here'])
})

test('an address that no endpoint may have is left out, and the problem counts addresses, not endpoints', () => {
  const [slice] = read([{ IPs: v4('10.1.0.1', '169.254.169.254') }, { IPs: v4('0.0.0.0', '010.1.0.2') }])
  expect(slice?.record.endpoints.map(({ ip }) => ip)).toEqual(['10.1.0.1', '10.1.0.2'])
  expect(slice?.problems).toEqual([
    `demo/${slice?.name} endpoints[1].addresses[0]: "169.254.169.254" is a link-local address, which nobody may have as an endpoint`,
    `demo/${slice?.name} endpoints[2].addresses[0]: "0.0.0.0" is an unspecified address, which nobody may have as an endpoint`,
  ])
})

test('a port without a number, or of an unknown protocol, is left out', () => {
  const port = { Protocol: Protocol.TCP, Port: 80, NodePort: 0, TargetPort: 0, TargetPortName: '' }
  const Ports = ['every', 'odd', 'http'].map((Name) => ({ ...port, Name }))
  const odd = { Ports: Ports.map((each) => ({ ...each, ...(each.Name === 'odd' && { Protocol: 0 as const }) })) }
  const PortOverrides = [
    { Name: 'every', Port: 0 },
    { Name: 'odd', Port: 1 },
    { Name: 'http', Port: 8080 },
  ]
  const [slice] = read([{ PortOverrides }], odd)
  expect(slice?.record.ports).toEqual([{ name: 'http', protocol: 'TCP', port: 8080 }])
  expect(slice?.problems).toEqual([
    `demo/${slice?.name} ports[0].port: must be a number: a port that means "all ports" cannot be proxied`,
    `demo/${slice?.name} ports[1].protocol: must be one of TCP, UDP, SCTP, not "UnknownProtocol"`,
  ])
})
