/** Random histories of a small cluster: objects come, change and go, lists are repeated, syncs happen now and then. */
import fc from 'fast-check'
import type { ObjectKey, ObjectKind, ObjectRecord, ServiceRecord } from '../../api/records.ts'
import { objectKey } from '../../api/records.ts'
import type { Catalog } from '../catalog.ts'
import { record } from './objects.ts'

/** Few names, so that histories meet the same objects again and again. */
const serviceName = fc.constantFrom('web', 'db', 'dns')
const policy = fc.constantFrom('Cluster', 'Local')
const portName = fc.constantFrom('', 'http', 'dns')
const protocol = fc.constantFrom('TCP', 'UDP')

export const anyService = fc
  .record({
    name: serviceName,
    clusterIPs: fc.constantFrom(['10.96.0.1'], ['10.96.0.2', 'fd00::2'], ['fd00::3'], []),
    type: fc.constantFrom('ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'),
    ports: fc.uniqueArray(fc.record({ name: portName, protocol, port: fc.constantFrom(80, 53) }), {
      maxLength: 2,
      selector: ({ name, protocol }) => name + protocol,
    }),
    nodePort: fc.constantFrom(0, 80, 30_080),
    // Some are cluster IPs of others, or the address of the node.
    externalIPs: fc.subarray(['192.0.2.1', '10.96.0.1', '10.200.0.2', 'fd00::9', 'fd00::3']),
    loadBalancerIPs: fc.subarray(['192.0.2.1', '10.96.0.2', 'fd00::9']),
    creationTimestamp: fc.constantFrom(undefined, '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
    externalTrafficPolicy: policy,
    internalTrafficPolicy: policy,
  })
  .map(({ name, clusterIPs, ports, nodePort, loadBalancerIPs, creationTimestamp, ...spec }) =>
    record('Service', {
      metadata: { namespace: 'demo', name, creationTimestamp },
      status: { loadBalancer: { ingress: loadBalancerIPs.map((ip) => ({ ip })) } },
      spec: {
        ...spec,
        clusterIP: clusterIPs[0] ?? 'None',
        clusterIPs,
        ipFamilies: clusterIPs.map((ip) => (ip.includes(':') ? 'IPv6' : 'IPv4')),
        ports: ports.map((port) => ({ ...port, nodePort })),
      },
    }),
  )

export const anySlice = fc
  .record({
    name: fc.constantFrom('s1', 's2', 's3'),
    service: serviceName,
    family: fc.constantFrom('IPv4', 'IPv6'),
    ports: fc.array(fc.record({ name: portName, protocol, port: fc.constantFrom(8080, 5353) }), { maxLength: 2 }),
    endpoints: fc.array(
      fc.record({
        host: fc.integer({ min: 1, max: 4 }),
        nodeName: fc.constantFrom('here', 'there'),
        ready: fc.boolean(),
        serving: fc.boolean(),
        terminating: fc.boolean(),
        zones: fc.subarray(['zone-a', 'zone-b']),
      }),
      { maxLength: 4 },
    ),
  })
  .map(({ name, service, family, ports, endpoints }) =>
    record('EndpointSlice', {
      metadata: { namespace: 'demo', name, labels: { 'kubernetes.io/service-name': service } },
      addressType: family,
      ports,
      endpoints: endpoints.map(({ host, nodeName, zones, ...conditions }) => ({
        addresses: [family === 'IPv6' ? `fd00:10::${host}` : `10.0.0.${host}`],
        nodeName,
        conditions,
        hints: { forZones: zones.map((zone) => ({ name: zone })) },
      })),
    }),
  )

export const anyNode = fc
  .record({
    zone: fc.constantFrom('', 'zone-a', 'zone-b'),
    // Services name them, too.
    external: fc.subarray(['192.0.2.1', 'fd00::9']),
  })
  .map(({ zone, external }) =>
    record('Node', {
      metadata: { name: 'here', labels: { 'topology.kubernetes.io/zone': zone } },
      status: {
        addresses: [
          { type: 'InternalIP', address: '10.200.0.2' },
          { type: 'InternalIP', address: 'fd00:200::2' },
          ...external.map((address) => ({ type: 'ExternalIP', address })),
        ],
      },
    }),
  )

/** Services that want the same few addresses, and little else. */
export const contestedService = contestedServiceIn(fc.constant('demo'))

/** Their rivals may be in another namespace, where the guard has something to say. */
export const contestedServiceAnywhere = contestedServiceIn(fc.constantFrom('demo', 'other'))

function contestedServiceIn(namespaces: fc.Arbitrary<string>): fc.Arbitrary<ServiceRecord> {
  return fc
    .record({
      namespace: namespaces,
      place: fc.integer({ min: 1, max: 4 }),
      protocol,
      nodePort: fc.constantFrom(0, 80),
      port: fc.constantFrom(80, 80, 81),
      range: fc.constantFrom(undefined, undefined, undefined, '79-80', '80-90', '81-82'),
      externalIPs: fc.subarray(['192.0.2.1', '10.96.0.1', '10.96.0.2', '10.200.0.2']),
      loadBalancerIPs: fc.subarray(['192.0.2.1', '10.96.0.3']),
      creationTimestamp: fc.constantFrom(undefined, '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
    })
    .map(({ namespace, place, protocol, nodePort, port, range, externalIPs, loadBalancerIPs, creationTimestamp }) =>
      record('Service', {
        metadata: {
          namespace,
          name: `contested-${place}`,
          creationTimestamp,
          // Of a range that has no port of the Service nothing is left.
          annotations: { 'fairlead.dev/port-range': port === 80 && range === '81-82' ? undefined : range },
        },
        status: { loadBalancer: { ingress: loadBalancerIPs.map((ip) => ({ ip })) } },
        spec: { clusterIP: `10.96.0.${place}`, externalIPs, ports: [{ port, protocol, nodePort }] },
      }),
    )
}

/** Of such a Service. Some endpoints have an address that others name. */
export const contestedSlice = fc
  .record({
    namespace: fc.constantFrom('demo', 'other'),
    place: fc.integer({ min: 1, max: 4 }),
    part: fc.constantFrom('a', 'b'),
    addresses: fc.subarray(['10.0.0.1', '10.0.0.2', '192.0.2.1']),
  })
  .map(({ namespace, place, part, addresses }) =>
    record('EndpointSlice', {
      metadata: {
        namespace,
        name: `contested-${place}-${part}`,
        labels: { 'kubernetes.io/service-name': `contested-${place}` },
      },
      addressType: 'IPv4',
      ports: [
        { name: '', protocol: 'TCP', port: 8080 },
        { name: '', protocol: 'UDP', port: 5353 },
      ],
      endpoints: addresses.map((address) => ({ addresses: [address], nodeName: 'there', conditions: { ready: true } })),
    }),
  )

export const anyServiceCidr = fc
  .constantFrom('10.96.0.0/30', '10.96.0.2/31')
  .map((cidr) => record('ServiceCIDR', { metadata: { name: 'kubernetes' }, spec: { cidrs: [cidr] } }))

export type Step =
  | { readonly do: 'upsert'; readonly record: ObjectRecord }
  | { readonly do: 'remove'; readonly kind: ObjectKind; readonly key: ObjectKey }
  | { readonly do: 'relist' }
  /** A batch of events ends: its Services are routed, but not yet programmed. */
  | { readonly do: 'flush' }
  | { readonly do: 'sync' }

export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: anyService.map((it): Step => ({ do: 'upsert', record: it })) },
  { weight: 6, arbitrary: anySlice.map((it): Step => ({ do: 'upsert', record: it })) },
  { weight: 1, arbitrary: anyNode.map((it): Step => ({ do: 'upsert', record: it })) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(['Service', 'web'], ['Service', 'db'], ['EndpointSlice', 's1'], ['EndpointSlice', 's2'])
      .map(([kind, name]): Step => ({
        do: 'remove',
        kind: kind as ObjectKind,
        key: objectKey({ namespace: 'demo', name }),
      })),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'relist' }) },
  { weight: 4, arbitrary: fc.constant<Step>({ do: 'flush' }) },
  { weight: 2, arbitrary: fc.constant<Step>({ do: 'sync' }) },
)

export const anyContestedStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: contestedService.map((it): Step => ({ do: 'upsert', record: it })) },
  { weight: 1, arbitrary: anyNode.map((it): Step => ({ do: 'upsert', record: it })) },
  {
    weight: 2,
    arbitrary: fc.integer({ min: 1, max: 4 }).map((place): Step => ({
      do: 'remove',
      kind: 'Service',
      key: objectKey({ namespace: 'demo', name: `contested-${place}` }),
    })),
  },
  { weight: 4, arbitrary: fc.constant<Step>({ do: 'flush' }) },
  { weight: 2, arbitrary: fc.constant<Step>({ do: 'sync' }) },
)

export function applyStep(catalog: Catalog, step: Step): void {
  switch (step.do) {
    case 'upsert':
      return catalog.upsert(step.record)
    case 'remove':
      return catalog.remove(step.kind, step.key)
    case 'relist':
      catalog.replace('EndpointSlice', [...catalog.slices.values()].reverse())
      return catalog.replace('Service', [...catalog.services.values()])
    case 'flush':
    case 'sync':
      return
    default:
      step satisfies never
  }
}
