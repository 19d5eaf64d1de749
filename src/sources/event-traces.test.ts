import { expect, test } from 'vitest'
import { userspaceSpanNames } from '../backends/userspace/span-names.ts'
import { Catalog } from '../core/catalog.ts'
import { silentLogger } from '../core/logger.ts'
import { silentMetrics } from '../core/proxy-metrics.ts'
import { RouteTable } from '../core/routing/route-table.ts'
import type { RouteTableOptions } from '../core/routing/route-table.ts'
import { silentNotices } from '../core/routing/service-notices.ts'
import { usualPolicy } from '../core/routing/serving-policy.ts'
import { FakeClock } from '../core/testing/fake-clock.ts'
import { rawService, rawSlice } from '../core/testing/objects.ts'
import type { SpanRecord } from '../core/trace.ts'
import { misplacedIn, recordedTrees, treeLines } from '../observe/tracing/testing/recorded-trees.ts'
import { Intake } from './intake.ts'

const web = (port: number, resourceVersion = '7') =>
  rawService('demo/web', { clusterIP: '10.96.0.1', ports: [{ port }] }, {}, { resourceVersion })
const webSlice = (ips: readonly string[], resourceVersion = '8') =>
  rawSlice('demo/web-1', 'web', ips, [8080], { metadata: { resourceVersion } })

test('the first list of a kind is one event, however many objects it has', async () => {
  const { services, slices, trees, table } = given()
  services.replace(many(500).map((object) => services.read(object)))
  slices.replace([slices.read(webSlice(['10.64.0.1']))])
  await settled()
  expect(trees.map((tree) => treeLines(tree, ['objects', 'initialized', 'fairlead.source'])[0])).toEqual([
    'OnServiceSynced objects=500 initialized=false fairlead.source=files',
    'OnEndpointSlicesSynced objects=1 initialized=true fairlead.source=files',
  ])
  const { links, more } = table.take({ full: true }).causedBy
  expect([links.map(({ context }) => context), more]).toEqual([trees.map(({ context }) => context), 0])
})

test('a link to an event says as JSON what it was about, and when it came', async () => {
  const { services, slices, trees, start, table } = given()
  await start()
  services.upsert(services.read(web(80)))
  slices.upsert(slices.read(webSlice(['10.64.0.1'])))
  await settled()
  const links: unknown = JSON.parse(JSON.stringify(table.take({ full: false }).causedBy.links))
  const received_ms = new FakeClock().now()
  expect(links).toEqual([
    {
      context: contextIn(trees[0]),
      attributes: { event: 'OnServiceAdd', object: 'Service demo/web', 'k8s.resource_version': '7', received_ms },
    },
    {
      context: contextIn(trees[1]),
      attributes: {
        event: 'OnEndpointSliceAdd',
        object: 'EndpointSlice demo/web-1',
        'k8s.resource_version': '8',
        received_ms,
      },
    },
  ])
})

test('an event says what the object was and what became of it, in the catalog and in routing', async () => {
  const { services, slices, trees, start, table } = given()
  await start()
  services.upsert(services.read(web(80)))
  await settled()
  slices.upsert(slices.read(webSlice(['10.64.0.1', '10.64.0.2'])))
  await settled()
  services.upsert(services.read(web(81, '9')))
  await settled()
  table.take({ full: false })
  services.remove(services.read(web(81, '10')))
  await settled()
  const shown = ['k8s.resource_version', 'changed', 'change.action', 'endpoints.before', 'endpoints.after']
  expect(trees.map((tree) => treeLines(tree, shown))).toEqual([
    [
      'OnServiceAdd k8s.resource_version=7 changed=true',
      '  catalog changed=true',
      '  route changed=true change.action=add endpoints.before=0 endpoints.after=0',
    ],
    [
      'OnEndpointSliceAdd k8s.resource_version=8 changed=true',
      '  catalog changed=true',
      '  route changed=true change.action=add endpoints.before=0 endpoints.after=2',
    ],
    [
      'OnServiceUpdate k8s.resource_version=9 changed=true',
      '  catalog changed=true',
      '  route changed=true change.action=update endpoints.before=2 endpoints.after=2',
    ],
    [
      'OnServiceDelete k8s.resource_version=10 changed=true',
      '  catalog changed=true',
      '  route changed=true change.action=delete endpoints.before=2 endpoints.after=0',
    ],
  ])
  expect(trees[1]?.attributes).toMatchObject({
    'k8s.namespace.name': 'demo',
    'k8s.endpointslice.name': 'web-1',
    'fairlead.source': 'files',
  })
  expect(trees[1]?.children[1]?.attributes).toMatchObject({
    'network.type': 'ipv4',
    'routes.changed': 1,
    'sync.requested': true,
    'change.collapsed': false,
    service: 'demo/web',
    ports: 1,
  })
  expect(trees.flatMap(misplacedIn)).toEqual([])
})

test('an event without news is marked, and never reaches routing', async () => {
  const { services, trees, start, table } = given()
  services.replace([services.read(web(80))])
  await start()
  services.upsert(services.read(web(80, '999')))
  await settled()
  expect(trees.map((tree) => treeLines(tree, ['changed']))).toEqual([
    ['OnServiceUpdate changed=false', '  catalog changed=false'],
  ])
  expect(table.take({ full: false }).causedBy).toEqual({ links: [], more: 0 })
})

test('an event that changes no route of this node is marked where that is found out, and causes no sync', async () => {
  const { slices, trees, start, table } = given()
  await start()
  slices.upsert(slices.read(rawSlice('demo/nobody-1', 'nobody', ['10.64.0.9'])))
  await settled()
  expect(trees.map((tree) => treeLines(tree, ['changed', 'sync.requested']))).toEqual([
    ['OnEndpointSliceAdd changed=true', '  catalog changed=true', '  route changed=false sync.requested=false'],
  ])
  expect(table.take({ full: false }).causedBy.links).toEqual([])
})

test('several events about one Service are routed once, and all of them are linked', async () => {
  const { services, slices, trees, start, table } = given()
  await start()
  services.upsert(services.read(web(80)))
  slices.upsert(slices.read(webSlice(['10.64.0.1'])))
  await settled()
  expect(trees.map((tree) => treeLines(tree, ['change.collapsed']).at(-1))).toEqual([
    '  route change.collapsed=false',
    '  route change.collapsed=true',
  ])
  const { links } = table.take({ full: false }).causedBy
  expect(links.map(({ attributes }) => attributes)).toEqual([
    { event: 'OnServiceAdd', object: 'Service demo/web', 'k8s.resource_version': '7', received_ms: now },
    { event: 'OnEndpointSliceAdd', object: 'EndpointSlice demo/web-1', 'k8s.resource_version': '8', received_ms: now },
  ])
  expect(links.map(({ context }) => context)).toEqual(trees.map(({ context }) => context))
})

test('an event about endpoints names their Service, and counts those whose clients were bound to them', async () => {
  const { services, slices, trees, start } = given()
  const sticky = { clusterIP: '10.96.0.1', ports: [{ port: 80 }], sessionAffinity: 'ClientIP' }
  services.replace([services.read(rawService('demo/web', sticky))])
  await start()
  for (const ips of [
    ['10.64.0.1', '10.64.0.2'],
    ['10.64.0.2', '10.64.0.3'],
    ['10.64.0.2', '10.64.0.3', '10.64.0.4'],
  ]) {
    slices.upsert(slices.read(webSlice(ips)))
    await settled()
  }
  slices.replace([])
  await settled()
  services.upsert(services.read(rawService('demo/web', { ...sticky, ports: [{ port: 81 }] })))
  await settled()
  expect(trees.map((tree) => treeLines(tree, ['k8s.service.name', 'affinity.removed']).filter(isNotCatalog))).toEqual([
    ['OnEndpointSliceAdd k8s.service.name=web', '  route affinity.removed=0'],
    ['OnEndpointSliceUpdate k8s.service.name=web', '  route affinity.removed=1'],
    ['OnEndpointSliceUpdate k8s.service.name=web', '  route affinity.removed=0'],
    ['OnEndpointSliceDelete k8s.service.name=web', '  route affinity.removed=3'],
    ['OnServiceUpdate k8s.service.name=web', '  route'],
  ])
})

function isNotCatalog(line: string): boolean {
  return line.trim() !== 'catalog'
}

test('changes that cancel each other out cause nothing', async () => {
  const { services, start, table } = given()
  await start()
  services.upsert(services.read(web(80)))
  await settled()
  services.remove(services.read(web(80)))
  await settled()
  expect(table.take({ full: false }).causedBy).toEqual({ links: [], more: 0 })
})

test('of a later list each difference is an event, but not thousands of them', async () => {
  const { services, trees, start, table } = given()
  services.replace(many(2).map((object) => services.read(object)))
  await start()
  services.replace(many(3).map((object) => services.read(object)))
  await settled()
  expect(trees.map(({ name, attributes }) => [name, attributes['k8s.resource_version']])).toEqual([
    ['OnServiceAdd', 'v2'],
  ])
  services.replace(many(3).map((object) => services.read(object)))
  await settled()
  expect(trees).toHaveLength(1)
  table.take({ full: false })
  services.replace(many(1203).map((object) => services.read(object)))
  await settled()
  expect(trees).toHaveLength(1 + 100 + 1)
  expect(trees.find(({ name }) => name === 'OnServiceSynced')?.attributes).toMatchObject({
    changed: 1100,
    objects: 1203,
  })
  const { links, more } = table.take({ full: false }).causedBy
  expect([links.length, more]).toEqual([32, 101 - 32])
})

test('what another process did to tell of an object is the parent', async () => {
  const { services, trees, start } = given()
  await start()
  const cause = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }
  services.upsert(services.read(web(80)), cause)
  await settled()
  expect(trees).toMatchObject([{ context: { traceId: cause.traceId }, parentSpanId: cause.spanId }])
})

test('the userspace mode calls its routing by the names of its own', async () => {
  const { services, slices, trees, start } = given({ spanNames: userspaceSpanNames })
  await start()
  services.upsert(services.read(web(80)))
  slices.upsert(slices.read(webSlice(['10.64.0.1'])))
  await settled()
  slices.upsert(slices.read(webSlice(['10.64.0.2'])))
  slices.remove(slices.read(webSlice(['10.64.0.2'])))
  await settled()
  expect(trees.map(({ children }) => children.at(-1)?.name)).toEqual([
    'serviceChange',
    'LoadBalancerRR.OnEndpointSliceAdd',
    'LoadBalancerRR.OnEndpointSliceUpdate',
    'LoadBalancerRR.OnEndpointSliceDelete',
  ])
})

const now = Date.UTC(2026, 0, 1)

function given(options: Partial<RouteTableOptions> = {}) {
  const clock = new FakeClock(now)
  const { tracer, trees } = recordedTrees(clock)
  const catalog = new Catalog()
  const tracing = { tracer, clock, source: 'files' }
  const intake = new Intake({ catalog, log: silentLogger, metrics: silentMetrics, tracing })
  const table = new RouteTable({
    catalog,
    family: 'ipv4',
    nodeName: 'here',
    nodeIP: '192.0.2.1',
    policy: usualPolicy,
    notices: silentNotices,
    metrics: silentMetrics,
    startedAtMs: 0,
    ...options,
  })
  const [services, slices] = [intake.sink('Service'), intake.sink('EndpointSlice')]
  /** Both lists are there, and their traces and syncs are over. */
  const start = async () => {
    if (!catalog.hasListed('Service')) services.replace([])
    if (!catalog.hasListed('EndpointSlice')) slices.replace([])
    table.take({ full: true })
    await settled()
    trees.length = 0
  }
  return { services, slices, trees, table, start }
}

function many(count: number): readonly unknown[] {
  return Array.from({ length: count }, (_, n) =>
    rawService(
      `demo/s${n}`,
      { clusterIP: `10.97.${n >> 8}.${n & 255}`, ports: [{ port: 80 }] },
      {},
      { resourceVersion: `v${n}` },
    ),
  )
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function contextIn(tree: SpanRecord | undefined): unknown {
  return tree && { traceId: tree.context.traceId, spanId: tree.context.spanId }
}
