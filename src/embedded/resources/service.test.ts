import { describe, expect, test } from 'vitest'
import type { Allocator, ApiObject } from '../resource.ts'
import { services } from './service.ts'
import { simpleAllocator } from './testing/simple-allocator.ts'

type Spec = Record<string, unknown>

const onePort = { ports: [{ port: 80 }] }

function service(spec: Spec, name = 'web'): ApiObject {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'demo' }, spec }
}

function create(spec: Spec, allocator: Allocator = simpleAllocator()): ApiObject {
  const prepared = services.prepareCreate(service(spec), allocator)
  if (!prepared.ok) throw new Error(`refused: ${JSON.stringify(prepared.errors)}`)
  return prepared.object
}

function createdSpec(spec: Spec, allocator?: Allocator): Spec {
  return create(spec, allocator)['spec'] as Spec
}

function refusals(object: ApiObject, old?: ApiObject, allocator: Allocator = simpleAllocator()): string[] {
  const prepared =
    old === undefined ? services.prepareCreate(object, allocator) : services.prepareUpdate(object, old, allocator)
  return prepared.ok ? [] : prepared.errors.map(({ field, message }) => `${field}: ${message}`)
}

function updatedSpec(old: ApiObject, change: (spec: Spec) => Spec, allocator: Allocator = simpleAllocator()): Spec {
  const prepared = services.prepareUpdate({ ...old, spec: change(old['spec'] as Spec) }, old, allocator)
  if (!prepared.ok) throw new Error(`refused: ${JSON.stringify(prepared.errors)}`)
  return prepared.object['spec'] as Spec
}

describe('creating a Service', () => {
  test('fills in every default and a cluster IP', () => {
    expect(createdSpec(onePort)).toEqual({
      clusterIP: '10.96.0.10',
      clusterIPs: ['10.96.0.10'],
      internalTrafficPolicy: 'Cluster',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
      sessionAffinity: 'None',
      type: 'ClusterIP',
    })
  })

  test('gives both families to a dual-stack Service', () => {
    expect(createdSpec({ ...onePort, ipFamilyPolicy: 'RequireDualStack' })).toMatchObject({
      clusterIPs: ['10.96.0.10', 'fd00:96::a'],
      ipFamilies: ['IPv4', 'IPv6'],
    })
    expect(createdSpec({ ...onePort, ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6'] })).toMatchObject({
      clusterIP: 'fd00:96::a',
      clusterIPs: ['fd00:96::a', '10.96.0.10'],
      ipFamilies: ['IPv6', 'IPv4'],
    })
  })

  test('takes the first family only where the cluster has one, unless two are required', () => {
    const single = simpleAllocator({ families: ['ipv4'] })
    expect(createdSpec({ ...onePort, ipFamilyPolicy: 'PreferDualStack' }, single)).toMatchObject({
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'PreferDualStack',
    })
    expect(refusals(service({ ...onePort, ipFamilyPolicy: 'RequireDualStack' }), undefined, single)).toEqual([
      'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
    ])
    expect(refusals(service({ ...onePort, ipFamilies: ['IPv6'] }), undefined, single)).toEqual([
      'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
    ])
  })

  test('gives a headless Service no address, and both families when it has no selector', () => {
    expect(createdSpec({ ...onePort, clusterIP: 'None', selector: { app: 'web' } })).toMatchObject({
      clusterIP: 'None',
      clusterIPs: ['None'],
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
    })
    expect(createdSpec({ clusterIP: 'None' }, simpleAllocator({ families: ['ipv4'] }))).toMatchObject({
      ipFamilies: ['IPv4', 'IPv6'],
      ipFamilyPolicy: 'RequireDualStack',
    })
  })

  test('gives DNS over TCP and UDP the same node port, and other ports their own', () => {
    const ports = [
      { name: 'dns', port: 53, protocol: 'UDP' },
      { name: 'dns-tcp', port: 53 },
      { name: 'metrics', port: 9153 },
    ]
    const spec = createdSpec({ type: 'NodePort', ports })
    expect((spec['ports'] as { nodePort: number }[]).map(({ nodePort }) => nodePort)).toEqual([30_000, 30_000, 30_001])
    expect(spec['externalTrafficPolicy']).toBe('Cluster')
  })

  test('gives a LoadBalancer with policy Local a health check port besides its node ports', () => {
    expect(createdSpec({ ...onePort, type: 'LoadBalancer', externalTrafficPolicy: 'Local' })).toMatchObject({
      allocateLoadBalancerNodePorts: true,
      healthCheckNodePort: 30_001,
      ports: [{ nodePort: 30_000 }],
    })
    const without = createdSpec({ ...onePort, type: 'LoadBalancer', allocateLoadBalancerNodePorts: false })
    expect(without['ports']).toEqual([{ port: 80, protocol: 'TCP', targetPort: 80 }])
  })

  test('ignores a status that the client sends', () => {
    const given = { ...service(onePort), status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } } }
    const prepared = services.prepareCreate(given, simpleAllocator())
    expect(prepared.ok && prepared.object['status']).toEqual({ loadBalancer: {} })
  })

  test.each<[string, Spec, string[]]>([
    ['no ports', {}, ['spec.ports: Required value']],
    [
      'port 0',
      { ports: [{ port: 0, targetPort: 1 }] },
      ['spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive'],
    ],
    [
      'several ports without names',
      { ports: [{ port: 1 }, { port: 2, name: 'b' }] },
      ['spec.ports[0].name: Required value'],
    ],
    [
      'two ports of the same name',
      {
        ports: [
          { port: 1, name: 'a' },
          { port: 2, name: 'a' },
        ],
      },
      ['spec.ports[1].name: Duplicate value: "a"'],
    ],
    [
      'the same port twice',
      {
        ports: [
          { port: 1, name: 'a' },
          { port: 1, name: 'b' },
        ],
      },
      ['spec.ports[1]: Duplicate value: {"protocol":"TCP","port":1}'],
    ],
    [
      'an unknown protocol',
      { ports: [{ port: 1, protocol: 'ICMP' }] },
      ['spec.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"'],
    ],
    [
      'a node port without the type for it',
      { ports: [{ port: 1, nodePort: 30_001 }] },
      ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
    ],
    [
      'a node port outside the range',
      { type: 'NodePort', ports: [{ port: 1, nodePort: 80 }] },
      [
        'spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767',
      ],
    ],
    [
      'the same node port twice',
      {
        type: 'NodePort',
        ports: [
          { port: 1, name: 'a', nodePort: 30_001 },
          { port: 2, name: 'b', nodePort: 30_001 },
        ],
      },
      ['spec.ports[1].nodePort: Invalid value: 30001: provided port is already allocated'],
    ],
    [
      'a loopback external IP',
      { ...onePort, externalIPs: ['127.0.0.1', '1.2.3'] },
      [
        'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
        'spec.externalIPs[1]: Invalid value: "1.2.3": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      ],
    ],
    [
      'source ranges without a load balancer',
      { ...onePort, loadBalancerSourceRanges: ['10.0.0.0/8'] },
      ["spec.loadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'"],
    ],
    [
      'a source range that is none',
      { ...onePort, type: 'LoadBalancer', loadBalancerSourceRanges: ['10.0.0.0/33'] },
      [
        'spec.loadBalancerSourceRanges[0]: Invalid value: "10.0.0.0/33": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
      ],
    ],
    ['ExternalName without a name', { type: 'ExternalName' }, ['spec.externalName: Required value']],
    [
      'ExternalName with a cluster IP',
      { type: 'ExternalName', externalName: 'example.com', clusterIP: '10.96.0.1' },
      ['spec.clusterIPs: Forbidden: may not be set for ExternalName services'],
    ],
    [
      'a headless NodePort',
      { ...onePort, type: 'NodePort', clusterIP: 'None' },
      [`spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for NodePort services`],
    ],
    [
      'an external policy without external traffic',
      { ...onePort, externalTrafficPolicy: 'Local' },
      ['spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services'],
    ],
    [
      'an affinity of more than a day',
      { ...onePort, sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 90_000 } } },
      [
        'spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 90000: must be greater than 0 and less than 86400',
      ],
    ],
    [
      'two addresses of one family',
      { ...onePort, clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1', '10.96.0.2'], ipFamilyPolicy: 'PreferDualStack' },
      ['spec.clusterIPs: Invalid value: ["10.96.0.1","10.96.0.2"]: may specify no more than one IP for each IP family'],
    ],
    [
      'two addresses on a single stack',
      { ...onePort, clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1', 'fd00::1'] },
      [
        'spec.ipFamilyPolicy: Invalid value: "SingleStack": must be RequireDualStack or PreferDualStack when multiple cluster IPs are specified',
      ],
    ],
    [
      'an unknown type',
      { ...onePort, type: 'Magic' },
      [
        'spec.type: Unsupported value: "Magic": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
      ],
    ],
  ])('refuses %s', (_, spec, expected) => {
    expect(refusals(service(spec))).toEqual(expect.arrayContaining(expected))
  })

  test('refuses a name that is no DNS label, and takes one that starts with a digit', () => {
    expect(refusals(service(onePort, 'web.one'))[0]).toMatch(
      /^metadata\.name: Invalid value: "web.one": a lowercase RFC/,
    )
    expect(refusals(service(onePort, '1web'))).toEqual([])
  })

  test('refuses addresses that programs read differently', () => {
    expect(refusals(service({ ...onePort, externalIPs: ['192.000.002.001', '::ffff:192.0.2.1'] }))).toEqual([
      'spec.externalIPs[0]: Invalid value: "192.000.002.001": must not have leading 0s',
      'spec.externalIPs[1]: Invalid value: "::ffff:192.0.2.1": must not be an IPv4-mapped IPv6 address',
    ])
  })

  test('refuses an address or a node port that another Service has', () => {
    const allocator = simpleAllocator({ takenIPs: ['10.96.0.7'], takenNodePorts: [30_005] })
    expect(refusals(service({ ...onePort, clusterIP: '10.96.0.7' }), undefined, allocator)).toEqual([
      'spec.clusterIPs: Invalid value: ["10.96.0.7"]: failed to allocate IP 10.96.0.7: provided IP is already allocated',
    ])
    const taken = { type: 'NodePort', ports: [{ port: 80, nodePort: 30_005 }] }
    expect(refusals(service(taken), undefined, allocator)).toEqual([
      'spec.ports[0].nodePort: Invalid value: 30005: provided port is already allocated',
    ])
  })
})

describe('updating a Service', () => {
  test('keeps what was allocated when the client leaves it out', () => {
    const old = create({
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      ports: [{ port: 80, nodePort: 30_007 }],
    })
    const spec = updatedSpec(old, () => ({
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      ports: [{ port: 80, targetPort: 8080 }],
    }))
    expect(spec).toMatchObject({
      clusterIP: '10.96.0.10',
      healthCheckNodePort: (old['spec'] as Spec)['healthCheckNodePort'],
      ports: [{ port: 80, targetPort: 8080, nodePort: 30_007 }],
    })
  })

  test('refuses another cluster IP', () => {
    const old = create(onePort)
    const next = { ...old, spec: { ...(old['spec'] as Spec), clusterIP: '10.96.0.99' } }
    expect(refusals(next, old)).toEqual(['spec.clusterIPs[0]: Invalid value: ["10.96.0.99"]: may not change once set'])
  })

  test('releases the address when it becomes an ExternalName, and gets one when it comes back', () => {
    const old = create({ ...onePort, type: 'NodePort' })
    const external = updatedSpec(old, (spec) => ({ ...spec, type: 'ExternalName', externalName: 'example.com' }))
    expect(Object.keys(external).sort()).toEqual(['externalName', 'ports', 'sessionAffinity', 'type'])
    expect(external['ports']).toEqual([{ port: 80, protocol: 'TCP', targetPort: 80 }])
    const back = updatedSpec({ ...old, spec: external }, (spec) => ({ ...spec, type: 'ClusterIP' }))
    expect(back).toMatchObject({ clusterIPs: ['10.96.0.10'], ipFamilies: ['IPv4'] })
  })

  test('drops node ports, policy and class of a LoadBalancer that becomes a ClusterIP', () => {
    const old = create({ ...onePort, type: 'LoadBalancer', loadBalancerClass: 'example.com/lb' })
    const spec = updatedSpec(old, (before) => ({ ...before, type: 'ClusterIP' }))
    expect(spec).toEqual(createdSpec(onePort))
  })

  test('adds and removes the second family with the policy', () => {
    const old = create(onePort)
    const dual = updatedSpec(old, (spec) => ({ ...spec, ipFamilyPolicy: 'PreferDualStack' }))
    expect(dual).toMatchObject({ clusterIPs: ['10.96.0.10', 'fd00:96::a'], ipFamilies: ['IPv4', 'IPv6'] })
    const single = updatedSpec({ ...old, spec: dual }, (spec) => ({ ...spec, ipFamilyPolicy: 'SingleStack' }))
    expect(single).toMatchObject({ clusterIPs: ['10.96.0.10'], ipFamilies: ['IPv4'] })
  })

  test('refuses to change the health check port', () => {
    const old = create({ ...onePort, type: 'LoadBalancer', externalTrafficPolicy: 'Local' })
    const next = { ...old, spec: { ...(old['spec'] as Spec), healthCheckNodePort: 30_009 } }
    expect(refusals(next, old)).toEqual(['spec.healthCheckNodePort: Forbidden: field is immutable'])
  })

  test('accepts an ingress address only for a LoadBalancer', () => {
    const ingress = { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } }
    const balanced = create({ ...onePort, type: 'LoadBalancer' })
    const prepared = services.prepareUpdate({ ...balanced, ...ingress }, balanced, simpleAllocator())
    expect(prepared.ok && prepared.object['status']).toEqual({
      loadBalancer: { ingress: [{ ip: '192.0.2.1', ipMode: 'VIP' }] },
    })
    const plain = create(onePort)
    expect(refusals({ ...plain, ...ingress }, plain)).toEqual([
      "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'",
    ])
  })
})

describe('the row of a Service', () => {
  const created = '2026-01-01T00:00:00Z'
  const now = Date.parse('2026-01-01T00:05:30Z')
  const row = (spec: Spec, status?: Spec): unknown[] => {
    const object = create(spec)
    const dated = { ...object, metadata: { ...object.metadata, creationTimestamp: created } }
    return [...services.cells(status === undefined ? dated : { ...dated, status }, now)]
  }

  test('reads as kubectl prints it', () => {
    const spec = { type: 'NodePort', selector: { tier: 'front', app: 'web' }, ports: [{ port: 80 }] }
    expect(row(spec)).toEqual([
      'web',
      'NodePort',
      '10.96.0.10',
      '<none>',
      '80:30000/TCP',
      '5m30s',
      'app=web,tier=front',
    ])
  })

  test('shows where traffic from outside enters', () => {
    const balanced = { ...onePort, type: 'LoadBalancer' }
    expect(row(balanced)[3]).toBe('<pending>')
    expect(row(balanced, { loadBalancer: { ingress: [{ ip: '192.0.2.1' }, { hostname: 'lb.example' }] } })[3]).toBe(
      '192.0.2.1,lb.example',
    )
    expect(row({ type: 'ExternalName', externalName: 'example.com' }).slice(1, 5)).toEqual([
      'ExternalName',
      '<none>',
      'example.com',
      '<none>',
    ])
    expect(row({ ...onePort, externalIPs: ['192.0.2.9'] })[3]).toBe('192.0.2.9')
  })
})
