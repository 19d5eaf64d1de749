/** For any history of events, the incremental result equals the one computed from scratch. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { NodeRecord, ObjectKey, ObjectKind, ObjectRecord } from '../api/records.ts'
import { objectKey } from '../api/records.ts'
import { families } from '../net/ip.ts'
import type { Family } from '../net/ip.ts'
import { Catalog } from './catalog.ts'
import { RouteTable } from './route-table.ts'
import type { Route, RouteKey } from './route.ts'
import { routesOf } from './router.ts'
import { silentMetrics } from './proxy-metrics.ts'
import { record } from './testing/objects.ts'

/** Few names, so that histories meet the same objects again and again. */
const serviceName = fc.constantFrom('web', 'db', 'dns')
const policy = fc.constantFrom('Cluster', 'Local')
const portName = fc.constantFrom('', 'http', 'dns')
const protocol = fc.constantFrom('TCP', 'UDP')

const anyService = fc
  .record({
    name: serviceName,
    clusterIPs: fc.constantFrom(['10.96.0.1'], ['10.96.0.2', 'fd00::2'], ['fd00::3'], []),
    type: fc.constantFrom('ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'),
    ports: fc.uniqueArray(fc.record({ name: portName, protocol, port: fc.constantFrom(80, 53) }), {
      maxLength: 2,
      selector: ({ name, protocol }) => name + protocol,
    }),
    nodePort: fc.constantFrom(0, 30_080),
    externalIPs: fc.subarray(['192.0.2.1', 'fd00::9']),
    externalTrafficPolicy: policy,
    internalTrafficPolicy: policy,
  })
  .map(({ name, clusterIPs, ports, nodePort, ...spec }) =>
    record('Service', {
      metadata: { namespace: 'demo', name },
      spec: {
        ...spec,
        clusterIP: clusterIPs[0] ?? 'None',
        clusterIPs,
        ipFamilies: clusterIPs.map((ip) => (ip.includes(':') ? 'IPv6' : 'IPv4')),
        ports: ports.map((port) => ({ ...port, nodePort })),
      },
    }),
  )

const anySlice = fc
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

const anyNode = fc
  .constantFrom('', 'zone-a', 'zone-b')
  .map((zone) => record('Node', { metadata: { name: 'here', labels: { 'topology.kubernetes.io/zone': zone } } }))

type Step =
  | { readonly do: 'upsert'; readonly record: ObjectRecord }
  | { readonly do: 'remove'; readonly kind: ObjectKind; readonly key: ObjectKey }
  | { readonly do: 'relist' }
  /** A batch of events ends: its Services are routed, but not yet programmed. */
  | { readonly do: 'flush' }
  | { readonly do: 'sync' }

const anyStep: fc.Arbitrary<Step> = fc.oneof(
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

const context = (family: Family, zone: string) => ({
  family,
  zone,
  nodeName: 'here',
  nodeIP: family === 'ipv4' ? '10.200.0.2' : 'fd00:200::2',
  allowExternalIPs: true,
})

/** The truth: all objects at once, no history. */
function fromScratch(catalog: Catalog, family: Family): Record<string, Route> {
  const zone = catalog.nodes.get('here' as ObjectKey)?.zone ?? ''
  const routes: Record<string, Route> = {}
  for (const service of catalog.services.values()) {
    const slices = [...catalog.slices.values()].filter((it) => it.serviceName === service.name)
    for (const route of routesOf(service, slices, context(family, zone))) routes[route.key] = route
  }
  return routes
}

function tables(catalog: Catalog) {
  return families.map((family) => {
    const { nodeName, nodeIP, allowExternalIPs } = context(family, '')
    const options = { catalog, family, nodeName, nodeIP, allowExternalIPs, metrics: silentMetrics, startedAtMs: 0 }
    return { family, table: new RouteTable(options), programmed: new Map<RouteKey, Route>() }
  })
}

/** A backend that trusts `change.keys` and looks at nothing else. */
function sync({ table, programmed }: ReturnType<typeof tables>[number]): void {
  const { view, change } = table.take({ full: false })
  expect(new Set(change.keys).size).toBe(change.keys.length)
  for (const key of change.keys) {
    const route = view.routesByKey.get(key)
    if (route === undefined) programmed.delete(key)
    else programmed.set(key, route)
  }
}

function apply(catalog: Catalog, step: Step): void {
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

test('programming only what changed gives what programming everything would give', () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 40 }), (history) => {
      const catalog = new Catalog()
      catalog.replace('Service', [])
      catalog.replace('EndpointSlice', [])
      const both = tables(catalog)
      for (const step of history) {
        apply(catalog, step)
        if (step.do === 'flush') for (const { table } of both) table.flush()
        if (step.do === 'sync') both.forEach(sync)
      }
      both.forEach(sync)
      for (const { family, table, programmed } of both) {
        const truth = fromScratch(catalog, family)
        expect(Object.fromEntries(programmed)).toEqual(truth)
        const without = Object.values(truth).filter((it) => it.hasUsableEndpoint && it.localEndpoints.length === 0)
        expect(table.noLocalEndpoints.internal).toBe(without.filter((it) => it.internalPolicy === 'Local').length)
      }
    }),
    { numRuns: 300 },
  )
})

test('the order in which objects arrive, and a second list of the same objects, do not show in the view', () => {
  const objects = fc.tuple(
    fc.uniqueArray(anyService, { selector: objectKey }),
    fc.uniqueArray(anySlice, { selector: objectKey }),
    fc.option(anyNode, { nil: undefined }),
  )
  const shuffled = objects.chain(([services, slices, node]) => {
    const records: ObjectRecord[] = [...services, ...slices, ...(node === undefined ? [] : [node])]
    return fc.record({
      services: fc.constant(services),
      slices: fc.constant(slices),
      node: fc.constant<NodeRecord | undefined>(node),
      events: fc.shuffledSubarray(records, { minLength: records.length }),
    })
  })
  fc.assert(
    fc.property(shuffled, ({ services, slices, node, events }) => {
      const listed = new Catalog()
      const listedTables = tables(listed)
      if (node !== undefined) listed.upsert(node)
      listed.replace('Service', services)
      listed.replace('EndpointSlice', slices)

      const streamed = new Catalog()
      const streamedTables = tables(streamed)
      streamed.replace('EndpointSlice', [])
      streamed.replace('Service', [])
      for (const event of events) streamed.upsert(event)
      streamed.replace('Service', [...services].reverse())

      for (const [index, { table }] of listedTables.entries()) {
        const one = Object.fromEntries(table.take({ full: true }).view.routesByKey)
        const other = streamedTables[index]?.table.take({ full: false }).view.routesByKey
        expect(Object.fromEntries(other ?? [])).toEqual(one)
      }
    }),
    { numRuns: 200 },
  )
})
