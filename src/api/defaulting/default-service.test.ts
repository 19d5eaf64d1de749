import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defaultObject } from './default-object.ts'
import { defaultService } from './default-service.ts'

describe('defaulting a Service', () => {
  test('fills in what an API server would', () => {
    expect(defaultService({ kind: 'Service', spec: { clusterIP: '10.96.0.1', ports: [{ port: 80 }] } })).toEqual({
      kind: 'Service',
      spec: {
        clusterIP: '10.96.0.1',
        internalTrafficPolicy: 'Cluster',
        ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
        sessionAffinity: 'None',
        type: 'ClusterIP',
      },
    })
  })

  test('gives client-IP affinity three hours, and no affinity no settings', () => {
    const sticky = defaultService({ spec: { sessionAffinity: 'ClientIP' } })
    expect(sticky['spec']).toMatchObject({ sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } } })
    const plain = defaultService({ spec: { sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } } })
    expect(plain['spec']).not.toHaveProperty('sessionAffinityConfig')
  })

  test('gives an external policy only to Services that are reached from outside', () => {
    expect(defaultService({ spec: { type: 'NodePort' } })['spec']).toMatchObject({ externalTrafficPolicy: 'Cluster' })
    expect(defaultService({ spec: { externalIPs: ['192.0.2.1'] } })['spec']).toMatchObject({
      externalTrafficPolicy: 'Cluster',
    })
    for (const inside of [{}, { externalIPs: [] }, { type: 'ExternalName', externalIPs: ['192.0.2.1'] }])
      expect(defaultService({ spec: inside })['spec']).not.toHaveProperty('externalTrafficPolicy')
    expect(defaultService({ spec: { type: 'LoadBalancer' } })['spec']).toMatchObject({
      externalTrafficPolicy: 'Cluster',
    })
    expect(defaultService({ spec: { type: 'ExternalName' } })['spec']).not.toHaveProperty('internalTrafficPolicy')
  })

  test('leaves alone what is said, and what is of another type than it should be', () => {
    const port = { port: 80, protocol: 'UDP', targetPort: 'web' }
    const clientIP = { timeoutSeconds: 5 }
    expect(
      defaultService({ spec: { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP }, ports: [port, 7] } }),
    ).toMatchObject({ spec: { sessionAffinityConfig: { clientIP }, ports: [port, 7] } })
    for (const wrong of ['x', { clientIP: 'x' }])
      expect(
        defaultService({ spec: { sessionAffinity: 'ClientIP', sessionAffinityConfig: wrong } })['spec'],
      ).toMatchObject({ sessionAffinityConfig: wrong })
    expect(defaultService({ spec: 'x' })).toEqual({ spec: 'x' })
    expect(defaultService({})['spec']).toMatchObject({ type: 'ClusterIP' })
  })

  test('sends a port to the same number where no target, or 0, is said', () => {
    const ports = [{ port: 80, targetPort: 0 }, { port: 81, targetPort: '' }, { port: 82 }]
    expect(defaultService({ spec: { ports } })['spec']).toMatchObject({
      ports: [{ targetPort: 80 }, { targetPort: 81 }, { targetPort: 82 }],
    })
  })

  test('gives no mode to addresses of other Services, nor to a status that it does not know', () => {
    const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } }
    expect(defaultService({ spec: { type: 'ClusterIP' }, status })['status']).toEqual(status)
    for (const other of [{}, { loadBalancer: 7 }, { loadBalancer: { ingress: 7 } }, { loadBalancer: { ingress: [7] } }])
      expect(defaultService({ spec: { type: 'LoadBalancer' }, status: other })['status']).toEqual(other)
    expect(defaultService({ spec: { type: 'LoadBalancer' } })).not.toHaveProperty('status')
  })

  test('gives ingress addresses of a LoadBalancer the mode VIP', () => {
    const status = {
      loadBalancer: { ingress: [{ ip: '192.0.2.1' }, { hostname: 'lb' }, { ip: '::1', ipMode: 'Proxy' }] },
    }
    expect(defaultService({ spec: { type: 'LoadBalancer' }, status })).toMatchObject({
      spec: { allocateLoadBalancerNodePorts: true },
      status: { loadBalancer: { ingress: [{ ipMode: 'VIP' }, { hostname: 'lb' }, { ipMode: 'Proxy' }] } },
    })
  })
})

describe('defaulting other kinds', () => {
  test('names the ports of slices and gives them a protocol', () => {
    expect(defaultObject({ kind: 'EndpointSlice', ports: [{ port: 80 }, { name: 'b', protocol: 'UDP' }] })).toEqual({
      kind: 'EndpointSlice',
      ports: [
        { name: '', port: 80, protocol: 'TCP' },
        { name: 'b', protocol: 'UDP' },
      ],
    })
  })

  test('gives a Node the plural of its pod range, and what pods may use of it', () => {
    expect(
      defaultObject({ kind: 'Node', spec: { podCIDR: '10.64.0.0/24' }, status: { capacity: { cpu: '2' } } }),
    ).toEqual({
      kind: 'Node',
      spec: { podCIDR: '10.64.0.0/24', podCIDRs: ['10.64.0.0/24'] },
      status: { capacity: { cpu: '2' }, allocatable: { cpu: '2' } },
    })
  })

  test('gives a Node each of the two fields for its pod ranges, if the other is there', () => {
    const spec = (given: object) => defaultObject({ kind: 'Node', spec: given })['spec']
    const both = { podCIDR: '10.64.0.0/24', podCIDRs: ['10.64.0.0/24', 'fd00::/64'] }
    expect(spec({ podCIDRs: both.podCIDRs })).toEqual(both)
    expect(spec(both)).toEqual(both)
    expect(spec({ podCIDR: '10.64.0.0/24', podCIDRs: [] })).toEqual({
      podCIDR: '10.64.0.0/24',
      podCIDRs: ['10.64.0.0/24'],
    })
    for (const none of [{}, { podCIDRs: [] }, { podCIDRs: 7 }]) expect(spec(none)).toEqual(none)
  })

  test('leaves what a Node says that pods may use', () => {
    const status = (given: object) => defaultObject({ kind: 'Node', status: given })['status']
    const reserved = { capacity: { cpu: '2' }, allocatable: { cpu: '1' } }
    expect(status(reserved)).toEqual(reserved)
    expect(status({})).toEqual({})
  })

  test('gives the ports of Endpoints a protocol, and leaves the rest', () => {
    const addresses = [{ ip: '10.0.0.1' }]
    const ports = [
      { port: 80 },
      { port: 53, protocol: 'UDP' },
      { port: 81, protocol: '' },
      { port: 82, protocol: null },
    ]
    expect(defaultObject({ kind: 'Endpoints', subsets: [{ addresses, ports }, { addresses }, 7] })).toEqual({
      kind: 'Endpoints',
      subsets: [
        {
          addresses,
          ports: [
            { port: 80, protocol: 'TCP' },
            { port: 53, protocol: 'UDP' },
            { port: 81, protocol: 'TCP' },
            { port: 82, protocol: 'TCP' },
          ],
        },
        { addresses },
        7,
      ],
    })
  })

  test('knows a Service by its kind', () => {
    expect(defaultObject({ kind: 'Service', spec: {} })['spec']).toMatchObject({ type: 'ClusterIP' })
  })

  test('leaves kinds without defaults alone', () => {
    const namespace = { kind: 'Namespace' }
    expect(defaultObject(namespace)).toBe(namespace)
  })
})

const garbage = fc.anything({ maxDepth: 3 })

test('defaulting never throws, changes no input, and a second time changes nothing', () => {
  const object = fc.record(
    {
      kind: fc.constantFrom('Service', 'EndpointSlice', 'Endpoints', 'Node'),
      spec: fc.oneof(
        garbage,
        fc.record(
          { type: garbage, ports: fc.oneof(garbage, fc.array(garbage)), clusterIP: garbage, sessionAffinity: garbage },
          { requiredKeys: [] },
        ),
        fc.record({ sessionAffinity: fc.constant('ClientIP'), sessionAffinityConfig: garbage }),
      ),
      ports: fc.oneof(garbage, fc.array(garbage)),
      subsets: fc.oneof(garbage, fc.array(fc.record({ ports: fc.array(garbage) }))),
      status: garbage,
    },
    { requiredKeys: ['kind'] },
  )
  fc.assert(
    fc.property(object, (given) => {
      const before = structuredClone(given)
      const once = defaultObject(given)
      expect(given).toEqual(before)
      expect(defaultObject(once)).toEqual(once)
    }),
  )
})
