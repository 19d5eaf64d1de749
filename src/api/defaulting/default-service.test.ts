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
    expect(defaultService({ spec: {} })['spec']).not.toHaveProperty('externalTrafficPolicy')
    expect(defaultService({ spec: { type: 'ExternalName' } })['spec']).not.toHaveProperty('internalTrafficPolicy')
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
