import { describe, expect, test } from 'vitest'
import { Catalog } from '../../core/catalog.ts'
import { silentLogger } from '../../core/logger.ts'
import { silentMetrics } from '../../core/proxy-metrics.ts'
import type { ObjectKind } from '../../api/records.ts'
import type { EndpointInfo } from '../../kpng/proto/generated/globalv1/api.ts'
import type { Service } from '../../kpng/proto/generated/localv1/api.ts'
import { GlobalStore } from '../../kpng/store/global-store.ts'
import { Intake } from '../intake.ts'
import { StoreIntake } from './store-intake.ts'

type Json = Readonly<Record<string, unknown>>

function rig() {
  const store = new GlobalStore()
  const intake = new StoreIntake({
    store,
    intake: new Intake({ catalog: new Catalog(), log: silentLogger, metrics: silentMetrics }),
    globs: { serviceLabels: ['app.*'], serviceAnnotations: [], nodeLabels: ['region'], nodeAnnotations: [] },
  })
  const change = (kind: ObjectKind, object: Json, how: 'upsert' | 'remove' = 'upsert') => {
    const sink = intake.sink(kind)
    sink[how](sink.read(object))
    store.commit()
  }
  return {
    store,
    intake,
    change,
    service: (spec: Json, rest: Json = {}): Service | undefined => {
      change('Service', { metadata: { namespace: 'default', name: 'web' }, spec, ...rest })
      return store.services.latest('default/web')?.service?.service
    },
    endpoints: (): readonly EndpointInfo[] =>
      store.services.latest('default/web')?.endpoints.map(({ info }) => info) ?? [],
  }
}

function slice(endpoints: readonly Json[], rest: Json = {}): Json {
  return {
    metadata: { namespace: 'default', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080 }],
    endpoints,
    ...rest,
  }
}

describe('a Service', () => {
  test('has its addresses by family, sorted, once each, and without what is none', () => {
    const { service } = rig()
    const ips = service({
      clusterIP: 'fd00::1',
      clusterIPs: ['fd00::1', '10.96.0.1'],
      ipFamilies: ['IPv6', 'IPv4'],
      externalIPs: ['192.0.2.2', 'fd00::9', '192.0.2.1', '192.0.2.2', 'nonsense'],
    })?.IPs
    expect(ips).toEqual({
      ClusterIPs: { V4: ['10.96.0.1'], V6: ['fd00::1'] },
      ExternalIPs: { V4: ['192.0.2.1', '192.0.2.2'], V6: ['fd00::9'] },
      Headless: false,
    })
  })

  test('without addresses still has the sets, and says that it is headless', () => {
    expect(rig().service({ clusterIP: 'None', clusterIPs: ['None'] })?.IPs).toEqual({
      ClusterIPs: { V4: [], V6: [] },
      ExternalIPs: { V4: [], V6: [] },
      Headless: true,
    })
  })

  test('with only the old field has its cluster IP', () => {
    expect(rig().service({ clusterIP: '10.96.0.1' })?.IPs?.ClusterIPs).toEqual({ V4: ['10.96.0.1'], V6: [] })
  })

  test('has no load-balancer IPs for nodes that its annotation leaves to the load balancer', () => {
    const annotations = { 'fairlead.dev/load-balancer-hairpin': 'through' }
    const metadata = { namespace: 'default', name: 'web', annotations }
    const status = { loadBalancer: { ingress: [{ ip: '203.0.113.7' }] } }
    const ips = rig().service({ type: 'LoadBalancer' }, { metadata, status })?.IPs
    expect(ips?.LoadBalancerIPs).toEqual({ V4: [], V6: [] })
  })

  test('has load-balancer IPs when its status does, even if none of them is an address', () => {
    const type = 'LoadBalancer'
    const status = (...ingress: readonly Json[]) => ({ status: { loadBalancer: { ingress } } })
    expect(rig().service({ type })?.IPs?.LoadBalancerIPs).toBeUndefined()
    expect(rig().service({ type }, status({ hostname: 'lb.example' }))?.IPs?.LoadBalancerIPs).toEqual({
      V4: [],
      V6: [],
    })
    expect(rig().service({ type }, status({ ip: '203.0.113.7' }))?.IPs?.LoadBalancerIPs?.V4).toEqual(['203.0.113.7'])
  })

  test('has one filter for its source ranges', () => {
    const ranges = { type: 'LoadBalancer', loadBalancerSourceRanges: ['198.51.100.0/24', '10.0.0.0/8'] }
    expect(rig().service(ranges)?.IPFilters).toEqual([{ SourceRanges: ['198.51.100.0/24', '10.0.0.0/8'] }])
  })

  test('has the number or the name of a target, never both', () => {
    const ports = [
      { name: 'a', port: 80, targetPort: 8080 },
      { name: 'b', port: 81, targetPort: 'web' },
    ]
    expect(rig().service({ ports })?.Ports).toMatchObject([
      { Name: 'a', Protocol: 1, TargetPort: 8080, TargetPortName: '' },
      { Name: 'b', Protocol: 1, TargetPort: 0, TargetPortName: 'web' },
    ])
  })

  test('has policies and affinity with the defaults of Kubernetes', () => {
    expect(rig().service({})).toMatchObject({ InternalTrafficToLocal: false, ExternalTrafficToLocal: false })
    expect(rig().service({})?.SessionAffinity).toBeUndefined()
    expect(rig().service({ sessionAffinity: 'ClientIP' })?.SessionAffinity?.value.TimeoutSeconds).toBe(10_800)
  })

  test('has the labels that a pattern lets pass, and no annotations without a pattern', () => {
    const metadata = {
      namespace: 'default',
      name: 'web',
      labels: { 'app.kubernetes.io/name': 'web', other: 'x' },
      annotations: { note: 'x' },
    }
    const { Labels, Annotations } = rig().service({}, { metadata }) ?? {}
    expect([Labels, Annotations]).toEqual([{ 'app.kubernetes.io/name': 'web' }, {}])
  })
})

describe('a slice', () => {
  test('has an endpoint with what is known of it', () => {
    const { change, endpoints } = rig()
    const endpoint = {
      addresses: ['10.1.0.1'],
      conditions: { ready: false },
      nodeName: 'node-a',
      zone: 'z1',
      hostname: 'web-0',
      targetRef: { kind: 'Pod', name: 'web-0' },
      hints: { forZones: [{ name: 'z2' }, { name: 'z1' }] },
    }
    change('EndpointSlice', slice([endpoint]))
    expect(endpoints()).toMatchObject([
      {
        SourceName: 'web-1',
        ServiceName: 'web',
        PodName: 'web-0',
        Endpoint: { Hostname: 'web-0', IPs: { V4: ['10.1.0.1'] }, PortOverrides: [{ Name: 'http', Port: 8080 }] },
        Topology: { Node: 'node-a', Zone: 'z1' },
        Conditions: { Ready: false },
        Hints: { Zones: ['z1', 'z2'] },
      },
    ])
  })

  test('that does not say whether an endpoint is ready says nothing about it', () => {
    const { change, endpoints } = rig()
    change('EndpointSlice', slice([{ addresses: ['10.1.0.1'] }]))
    expect(endpoints()[0]?.Conditions).toBeUndefined()
  })

  test('of another Service takes its endpoints along, and one of no Service has none', () => {
    const { change, endpoints, store } = rig()
    change('EndpointSlice', slice([{ addresses: ['10.1.0.1'] }]))
    const metadata = { namespace: 'default', name: 'web-1', labels: { 'kubernetes.io/service-name': 'other' } }
    change('EndpointSlice', slice([{ addresses: ['10.1.0.1'] }], { metadata }))
    expect(endpoints()).toEqual([])
    expect(store.services.latest('default/other')?.endpoints).toHaveLength(1)
    change('EndpointSlice', slice([{ addresses: ['10.1.0.1'] }], { metadata: { namespace: 'default', name: 'web-1' } }))
    expect(store.services.latest('default/other')).toBeUndefined()
  })

  test('that is gone takes its endpoints along', () => {
    const { change, endpoints } = rig()
    change('EndpointSlice', slice([{ addresses: ['10.1.0.1'] }]))
    change('EndpointSlice', slice([]), 'remove')
    expect(endpoints()).toEqual([])
  })
})

test('a Node has its zone even when that label does not travel', () => {
  const { change, store } = rig()
  const labels = { region: 'r1', 'topology.kubernetes.io/zone': 'z1' }
  change('Node', { metadata: { name: 'node-a', labels } })
  expect(store.nodes.latest('node-a')?.node).toMatchObject({ Labels: { region: 'r1' }, Topology: { Zone: 'z1' } })
})

test('complete lists make the store complete, empty ones too', () => {
  const { store, intake } = rig()
  for (const kind of ['Service', 'EndpointSlice', 'Node'] as const) {
    expect(store.isSynced).toBe(false)
    intake.sink(kind).replace([])
  }
  expect(store.isSynced).toBe(true)
})

test('what a new list lacks is gone, and a bad version of a good object leaves the good one', () => {
  const { store, intake, service } = rig()
  service({ clusterIP: '10.96.0.1' })
  const sink = intake.sink('Service')
  const bad = { metadata: { namespace: 'default', name: 'web' }, spec: { clusterIP: '10.96.0.300' } }
  sink.replace([sink.read(bad)])
  store.commit()
  expect(store.services.latest('default/web')).toBeDefined()
  sink.replace([])
  store.commit()
  expect(store.services.latest('default/web')).toBeUndefined()
})

test('an object that stays as it is makes no new revision', () => {
  const { store, change } = rig()
  change('EndpointSlice', slice([{ addresses: ['10.1.0.1'] }]))
  const { revision } = store
  change('EndpointSlice', slice([{ addresses: ['10.1.0.1'] }], { unrelated: true }))
  expect(store.revision).toBe(revision)
})
