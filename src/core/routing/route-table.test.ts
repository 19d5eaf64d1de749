import { describe, expect, test } from 'vitest'
import type { ObjectKey } from '../../api/records.ts'
import type { NodeView } from '../backend.ts'
import { EndpointCare } from '../care/endpoint-care.ts'
import { Catalog } from '../catalog.ts'
import { RouteTable } from './route-table.ts'
import type { NoticeSink } from './service-notices.ts'
import { usualPolicy } from './serving-policy.ts'
import type { ServingPolicy } from './serving-policy.ts'
import type { SyncRequest } from '../sync/route-source.ts'
import { silentMetrics } from '../proxy-metrics.ts'
import type { ProxyMetrics } from '../proxy-metrics.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { node, rawService, rawSlice, record, service, slice } from '../testing/objects.ts'
import { addressesOf } from '../testing/routes.ts'

const web = service('demo/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }] })
const db = service('demo/db', { clusterIP: '10.96.0.2', ports: [{ port: 5432 }] })

const sliceOf = (name: string, ip: string) => slice(`demo/${name}-1`, name, [ip])

const endpointsIn = ({ routesByKey }: NodeView) =>
  Object.fromEntries(
    Array.from(routesByKey.values(), ({ key, clusterEndpoints }) => [key, clusterEndpoints.map((it) => it.address)]),
  )

const serviceCidr = (name: string, ...cidrs: string[]) => record('ServiceCIDR', { metadata: { name }, spec: { cidrs } })

function setUp(options: { initialised?: boolean; care?: EndpointCare; policy?: ServingPolicy } = {}) {
  const catalog = new Catalog()
  const counts = { services: 0, slices: 0, pending: { services: 0, slices: 0 } }
  const metrics: ProxyMetrics = {
    ...silentMetrics,
    serviceChange: () => counts.services++,
    endpointChange: () => counts.slices++,
    pendingChanges: (pending) => (counts.pending = { ...pending }),
  }
  const told: string[] = []
  const notices: NoticeSink = {
    tell: (_, name, list) => told.push([name, ...list.map(({ reason }) => reason)].join(' ')),
  }
  const table = new RouteTable({
    catalog,
    family: 'ipv4',
    nodeName: 'here',
    nodeIP: '10.200.0.2',
    policy: options.policy ?? usualPolicy,
    ...(options.care && { care: options.care }),
    notices,
    metrics,
    startedAtMs: 1_000,
  })
  const requests: SyncRequest[] = []
  table.subscribe((request) => requests.push(request))
  if (options.initialised !== false) {
    catalog.replace('Service', [])
    catalog.replace('EndpointSlice', [])
    table.take({ full: true })
    requests.length = 0
  }
  /** What a sync would get now. */
  const take = (full = false) => {
    table.flush()
    requests.length = 0
    return table.take({ full })
  }
  return { catalog, table, requests, take, counts, told }
}

describe('a sync is asked for', () => {
  test('only once Services and EndpointSlices are both complete', () => {
    const { catalog, table, requests } = setUp({ initialised: false })
    catalog.upsert(web)
    catalog.replace('Service', [web])
    table.flush()
    expect([table.isInitialised, requests]).toEqual([false, []])
    catalog.replace('EndpointSlice', [])
    expect(table.isInitialised).toBe(true)
    expect(requests.at(-1)).toEqual({ urgent: false, initialised: true })
    expect(table.take({ full: false }).change).toEqual({
      full: true,
      keys: ['demo/web/TCP'],
      causes: ['the first complete list', 'Service demo/web added'],
    })
  })

  test('for nothing as long as they are not', () => {
    const { catalog, table } = setUp({ initialised: false })
    catalog.upsert(web)
    expect(table.take({ full: false })).toMatchObject({
      change: { full: false, keys: [] },
      view: { serviceCidrs: [], routesByKey: new Map() },
    })
  })

  test('for nothing that is routed while the lists arrive, until they are complete', async () => {
    const { catalog, table, requests } = setUp({ initialised: false })
    for (const it of [web, db, sliceOf('web', '10.64.0.1')]) catalog.upsert(it)
    await Promise.resolve()
    // Only the one whose endpoints are known.
    expect([table.pendingRoutes, requests]).toEqual([1, []])
    expect(table.take({ full: true }).change.keys).toEqual([])
    catalog.replace('Service', [web, db])
    catalog.replace('EndpointSlice', [sliceOf('web', '10.64.0.1')])
    expect(requests).toEqual([{ urgent: false, initialised: true }])
    const { change, view } = table.take({ full: false })
    expect([change.full, [...change.keys].sort()]).toEqual([true, ['demo/db/TCP', 'demo/web/TCP']])
    expect(endpointsIn(view)).toEqual({ 'demo/web/TCP': ['10.64.0.1:8080'], 'demo/db/TCP': [] })
  })

  test('for nothing that has slices of the other family only, as they say nothing of its endpoints', () => {
    const { catalog, table } = setUp({ initialised: false })
    const spec = { clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1', 'fd96::1'], ipFamilies: ['IPv4', 'IPv6'] }
    catalog.upsert(slice('demo/web-6', 'web', ['fd00::1']))
    catalog.upsert(service('demo/web', { ...spec, ports: [{ port: 80 }] }))
    table.flush()
    expect(table.pendingRoutes).toBe(0)
    catalog.upsert(sliceOf('web', '10.64.0.1'))
    table.flush()
    expect(table.pendingRoutes).toBe(1)
  })

  test('after a Service was routed twice at most, however many slices it has', async () => {
    const care = new EndpointCare({ clock: new FakeClock(), probe: async () => undefined, random: () => 0.5 })
    let routings = 0
    care.findingsOf = () => void routings++
    const { catalog, table } = setUp({ care, initialised: false })
    catalog.upsert(web)
    const slices = Array.from({ length: 50 }, (_, id) => slice(`demo/web-${id}`, 'web', [`10.64.0.${id}`]))
    for (const it of slices) {
      catalog.upsert(it)
      await Promise.resolve()
    }
    catalog.replace('EndpointSlice', slices)
    catalog.replace('Service', [web])
    expect(endpointsIn(table.take({ full: false }).view)['demo/web/TCP']).toHaveLength(50)
    expect(routings).toBe(2)
  })

  test('for what is left of a list that broke off and came again', async () => {
    const { catalog, table } = setUp({ initialised: false })
    for (const it of [web, db, sliceOf('web', '10.64.0.1'), sliceOf('db', '10.64.0.9')]) catalog.upsert(it)
    await Promise.resolve()
    expect(table.pendingRoutes).toBe(2)
    catalog.replace('Service', [web])
    catalog.replace('EndpointSlice', [sliceOf('web', '10.64.0.2')])
    expect(endpointsIn(table.take({ full: false }).view)).toEqual({ 'demo/web/TCP': ['10.64.0.2:8080'] })
  })

  test('for what the lists say in the end: nothing is told of Services without a cluster IP, or that are gone', async () => {
    const { catalog, table, counts } = setUp({ initialised: false })
    const headless = service('demo/headless', { clusterIP: 'None', ports: [{ port: 80 }] })
    const gone = service('demo/gone', { clusterIP: '10.96.0.9', ports: [{ port: 80 }] })
    const slices = ['headless', 'orphan', 'web'].map((name) => sliceOf(name, '10.64.0.1'))
    for (const it of [headless, gone, web, ...slices]) catalog.upsert(it)
    await Promise.resolve()
    catalog.replace('Service', [headless, web])
    catalog.replace('EndpointSlice', slices)
    expect(counts.pending).toEqual({ services: 1, slices: 1 })
    expect(table.take({ full: false }).change.causes).toEqual(['the first complete list', 'Service demo/web added'])
  })

  test('of nobody who no longer listens', () => {
    const { catalog, table } = setUp()
    const heard: SyncRequest[] = []
    const unsubscribe = table.subscribe((request) => heard.push(request))
    unsubscribe()
    catalog.upsert(web)
    table.flush()
    expect(heard).toEqual([])
  })

  test('when a Service or its endpoints change, naming the object', async () => {
    const { catalog, requests, take } = setUp()
    catalog.upsert(web)
    await Promise.resolve()
    expect(requests).toEqual([{ urgent: false, initialised: false }])
    catalog.upsert(slice('demo/web-1', 'web', ['10.0.0.1']))
    expect(take().change).toEqual({ full: false, keys: ['demo/web/TCP'], causes: ['Service demo/web added'] })
    catalog.upsert(slice('demo/web-1', 'web', ['10.0.0.2']))
    expect(take().change.causes).toEqual(['EndpointSlice demo/web-1 updated'])
    catalog.remove('EndpointSlice', 'demo/web-1' as ObjectKey)
    expect(take().change.causes).toEqual(['EndpointSlice demo/web-1 deleted'])
  })

  test('once for a whole batch of events', async () => {
    const { catalog, requests } = setUp()
    catalog.upsert(web)
    catalog.upsert(db)
    catalog.upsert(slice('demo/web-1', 'web', ['10.0.0.1']))
    catalog.upsert(serviceCidr('foo', '10.1.0.0/16'))
    catalog.upsert(serviceCidr('bar', '10.2.0.0/16'))
    await Promise.resolve()
    expect(requests).toHaveLength(1)
    catalog.remove('Service', 'demo/db' as ObjectKey)
    await Promise.resolve()
    expect(requests).toHaveLength(2)
  })

  test('with urgency when an endpoint is gone, and without when one is added', () => {
    const { catalog, table, requests, take } = setUp()
    catalog.upsert(web)
    catalog.upsert(slice('demo/web-1', 'web', ['10.0.0.1']))
    take()
    catalog.upsert(slice('demo/web-1', 'web', ['10.0.0.1', '10.0.0.2']))
    table.flush()
    expect(requests).toEqual([{ urgent: false, initialised: false }])
    take()
    catalog.upsert(slice('demo/web-1', 'web', ['10.0.0.2']))
    table.flush()
    expect(requests).toEqual([{ urgent: true, initialised: false }])
  })

  test('with urgency when one port of a Service loses an endpoint and another one gains one', () => {
    const { catalog, table, requests, take } = setUp()
    const ports = [
      { name: 'a', port: 80 },
      { name: 'b', port: 81 },
    ]
    const of = (name: string, ...ips: string[]) =>
      slice(`demo/${name}`, 'web', ips, [{ name, port: 8080, protocol: 'TCP' }])
    catalog.upsert(service('demo/web', { clusterIP: '10.96.0.1', ports }))
    catalog.upsert(of('a', '10.0.0.1'))
    take()
    catalog.upsert(of('a'))
    catalog.upsert(of('b', '10.0.0.2'))
    table.flush()
    expect(requests).toEqual([{ urgent: true, initialised: false }])
  })

  test.each([
    ['the same Service arrives again', (catalog: Catalog) => catalog.upsert(web)],
    ['an equal Service arrives', (catalog: Catalog) => catalog.upsert({ ...web })],
    [
      'a change is taken back before the sync',
      (catalog: Catalog) => {
        catalog.upsert({ ...web, affinitySeconds: 5 })
        catalog.upsert(web)
      },
    ],
    [
      'a Service comes and goes before the sync',
      (catalog: Catalog) => {
        catalog.upsert(db)
        catalog.remove('Service', 'demo/db' as ObjectKey)
      },
    ],
    ['a slice has no Service', (catalog: Catalog) => catalog.upsert(slice('demo/x-1', 'x', ['10.0.0.1']))],
    [
      'a slice of the other family changes',
      (catalog: Catalog) => catalog.upsert(slice('demo/web-6', 'web', ['fd00::1'])),
    ],
    ['the node gets a label that is not its zone', (catalog: Catalog) => catalog.upsert(node('here'))],
    ['a ServiceCIDR has no range of the family', (catalog: Catalog) => catalog.upsert(serviceCidr('six', 'fd00::/64'))],
    ['another node moves', (catalog: Catalog) => catalog.upsert(node('there', 'zone-b'))],
  ])('not when %s', (_, change) => {
    const { catalog, table, requests, take, counts } = setUp()
    catalog.upsert(web)
    take()
    change(catalog)
    table.flush()
    expect(requests).toEqual([])
    expect(counts.pending).toEqual({ services: 0, slices: 0 })
  })

  test('for everything when the node moves to another zone, and never because it was deleted', () => {
    const { catalog, table, requests, take } = setUp()
    catalog.upsert(web)
    take()
    catalog.upsert(node('here', 'zone-a'))
    expect(take()).toMatchObject({ change: { full: true, keys: ['demo/web/TCP'] }, view: { node: { zone: 'zone-a' } } })
    catalog.remove('Node', 'here' as ObjectKey)
    table.flush()
    expect(requests).toEqual([])
    expect(take().view.node.zone).toBe('zone-a')
  })

  test('when the service CIDRs change, which hold each range once whoever lists it', () => {
    const { catalog, table, requests, take } = setUp()
    catalog.upsert(serviceCidr('foo', '10.1.0.0/16', 'fd00::/64'))
    catalog.upsert(serviceCidr('bar', '10.2.0.0/16', '10.1.0.0/16'))
    table.flush()
    expect(requests).toHaveLength(1)
    expect(take().view.serviceCidrs).toEqual(['10.1.0.0/16', '10.2.0.0/16'])
    catalog.remove('ServiceCIDR', 'foo' as ObjectKey)
    expect(take().view.serviceCidrs).toEqual(['10.1.0.0/16', '10.2.0.0/16'])
    catalog.remove('ServiceCIDR', 'bar' as ObjectKey)
    expect(take().view.serviceCidrs).toEqual([])
  })
})

describe('the view', () => {
  test('does not change while a sync works on it', () => {
    const { catalog, table, take } = setUp()
    catalog.upsert(web)
    const { view } = take()
    catalog.remove('Service', 'demo/web' as ObjectKey)
    table.flush()
    expect([...view.routesByKey.keys()]).toEqual(['demo/web/TCP'])
    expect([...take().view.routesByKey.keys()]).toEqual([])
  })

  test('keeps the very same Route where nothing changed', () => {
    const { catalog, take } = setUp()
    catalog.upsert(web)
    catalog.upsert(db)
    const before = take().view.routesByKey.get('demo/web/TCP' as never)
    catalog.upsert({ ...db, affinitySeconds: 5 })
    expect(take().view.routesByKey.get('demo/web/TCP' as never)).toBe(before)
  })

  test('follows a renamed port', () => {
    const { catalog, take } = setUp()
    catalog.upsert(web)
    take()
    catalog.upsert(service('demo/web', { clusterIP: '10.96.0.1', ports: [{ name: 'http', port: 80 }] }))
    const { change, view } = take()
    expect(change.keys).toEqual(['demo/web/TCP', 'demo/web:http/TCP'])
    expect([...view.routesByKey.keys()]).toEqual(['demo/web:http/TCP'])
  })

  test('follows a slice that was made again for the other family', () => {
    const { catalog, take } = setUp()
    catalog.upsert(web)
    catalog.upsert(slice('demo/s', 'web', ['10.0.0.1']))
    take()
    catalog.upsert(slice('demo/s', 'web', ['fd00::1']))
    expect(take().view.routesByKey.get('demo/web/TCP' as never)?.endpoints).toEqual([])
  })

  test('follows a slice that moves to another Service', () => {
    const { catalog, take } = setUp()
    catalog.upsert(web)
    catalog.upsert(db)
    catalog.upsert(slice('demo/s', 'web', ['10.0.0.1']))
    take()
    catalog.upsert(slice('demo/s', 'db', ['10.0.0.1']))
    const { view } = take()
    const counts = [...view.routesByKey.values()].map((route) => `${route.name} ${route.endpoints.length}`)
    expect(counts.sort()).toEqual(['db 1', 'web 0'])
  })
})

test('an address that a Service names twice, and that belongs to another one, is refused both times', () => {
  const { catalog, take } = setUp()
  const ip = '192.0.2.1'
  const balanced = { loadBalancer: { ingress: [{ ip }] } }
  catalog.upsert(service('demo/owner', { clusterIP: '10.96.0.1', ports: [{ port: 80 }] }, balanced))
  catalog.upsert(
    service(
      'demo/thief',
      { clusterIP: '10.96.0.2', ports: [{ port: 80 }, { name: 'b', port: 81 }], externalIPs: [ip] },
      balanced,
    ),
  )
  const { routesByKey } = take().view
  const named = (key: string) => {
    const route = routesByKey.get(key as never)
    return { external: addressesOf(route, 'external-ip'), loadBalancer: addressesOf(route, 'load-balancer-ip') }
  }
  expect(named('demo/owner/TCP')).toMatchObject({ loadBalancer: [ip] })
  expect(named('demo/thief/TCP')).toEqual({ external: [], loadBalancer: [] })
  expect(named('demo/thief:b/TCP')).toEqual({ external: [ip], loadBalancer: [ip] })
})

test('a sync programs removals first, then the API server and DNS, then the rest by name', () => {
  const { catalog, take } = setUp()
  const at = (id: string, clusterIP: string) => service(id, { clusterIP, ports: [{ port: 80 }] })
  catalog.upsert(at('zoo/last', '10.96.0.3'))
  catalog.upsert(slice('zoo/last-1', 'last', ['10.0.0.1']))
  catalog.upsert(at('zoo/empty', '10.96.0.7'))
  take()
  catalog.upsert(at('aaa/first', '10.96.0.4'))
  catalog.upsert(at('default/kubernetes-dashboard', '10.96.0.6'))
  catalog.upsert(at('kube-system/kube-dns', '10.96.0.10'))
  catalog.upsert(at('default/kubernetes', '10.96.0.5'))
  catalog.remove('EndpointSlice', 'zoo/last-1' as ObjectKey)
  catalog.remove('Service', 'zoo/empty' as ObjectKey)
  expect(take().change.keys).toEqual([
    'zoo/empty/TCP',
    'zoo/last/TCP',
    'default/kubernetes/TCP',
    'kube-system/kube-dns/TCP',
    'aaa/first/TCP',
    'default/kubernetes-dashboard/TCP',
  ])
})

describe('what a sync is told about its changes', () => {
  const timed = (ips: string[], time: number, port: object = { name: '', port: 80 }) =>
    record(
      'EndpointSlice',
      rawSlice('demo/web-1', 'web', ips, [port as never], {
        metadata: {
          annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': new Date(time).toISOString() },
        },
      }),
    )

  test('includes when they happened, unless that was before our start or the slice is gone', () => {
    const { catalog, take } = setUp()
    catalog.upsert(web)
    catalog.upsert(timed(['10.0.0.1'], 2_000))
    catalog.upsert(timed(['10.0.0.2'], 3_000))
    expect(take().triggerTimesMs).toEqual([2_000, 3_000])
    catalog.upsert(timed(['10.0.0.3'], 500))
    catalog.upsert(timed(['10.0.0.4'], 1_000))
    expect(take().triggerTimesMs).toEqual([])
    catalog.upsert(timed(['10.0.0.4'], 4_000))
    catalog.remove('EndpointSlice', 'demo/web-1' as ObjectKey)
    catalog.upsert(timed(['10.0.0.5'], 5_000))
    expect(take().triggerTimesMs).toEqual([5_000])
  })

  test('includes whether UDP flows may have gone stale', () => {
    const { catalog, take } = setUp()
    catalog.upsert(web)
    catalog.upsert(timed(['10.0.0.1'], 2_000))
    expect(take().needsConntrackCleanup).toBe(false)
    catalog.upsert(timed(['10.0.0.1'], 2_000, { name: 'dns', port: 53, protocol: 'UDP' }))
    expect(take().needsConntrackCleanup).toBe(true)
    catalog.upsert(timed(['10.0.0.1'], 2_000))
    expect(take().needsConntrackCleanup).toBe(true)
    const both = [80, { name: 'dns', port: 53, protocol: 'UDP' }]
    catalog.upsert(slice('demo/web-2', 'web', ['10.0.0.2'], both))
    expect(take().needsConntrackCleanup).toBe(true)
  })

  test('names at most five causes and counts the rest', () => {
    const { catalog, take } = setUp()
    for (let i = 1; i <= 8; i++)
      catalog.upsert(service(`demo/s${i}`, { clusterIP: `10.96.1.${i}`, ports: [{ port: 80 }] }))
    const { causes } = take().change
    expect([causes.length, causes[0], causes[5]]).toEqual([6, 'Service demo/s1 added', 'and 3 more'])
  })
})

test('Services without a local endpoint are counted by policy, only while others could serve', () => {
  const { catalog, table, take } = setUp()
  const spec = { clusterIP: '10.96.0.1', ports: [{ port: 80, nodePort: 30_080 }], type: 'NodePort' }
  catalog.upsert(service('demo/web', { ...spec, externalTrafficPolicy: 'Local', internalTrafficPolicy: 'Local' }))
  take()
  expect(table.noLocalEndpoints).toEqual({ internal: 0, external: 0 })
  catalog.upsert(slice('demo/web-1', 'web', ['10.0.0.1']))
  take()
  expect(table.noLocalEndpoints).toEqual({ internal: 1, external: 1 })
  catalog.upsert(slice('demo/web-1', 'web', [{ addresses: ['10.0.0.1'], nodeName: 'here' }]))
  take()
  expect(table.noLocalEndpoints).toEqual({ internal: 0, external: 0 })
})

test('Services without a local endpoint are not counted where no traffic follows policy Local', () => {
  const { catalog, table, take } = setUp()
  const add = (name: string, spec: object) => {
    catalog.upsert(service(`demo/${name}`, { type: 'NodePort', ports: [{ port: 80 }], ...spec }))
    catalog.upsert(slice(`demo/${name}-1`, name, ['10.0.0.1']))
  }
  add('nobody', { clusterIP: '10.96.0.1', ports: [{ port: 80, nodePort: 30_080 }] })
  add('closed', { clusterIP: '10.96.0.2', externalTrafficPolicy: 'Local' })
  take()
  expect(table.noLocalEndpoints).toEqual({ internal: 0, external: 0 })
})

test('an endpoint whose slice says another zone is the same endpoint', () => {
  const { catalog, take, table, requests } = setUp()
  const inZone = (zone: string) => slice('demo/web-1', 'web', [{ addresses: ['10.0.0.1'], zone }])
  catalog.upsert(web)
  catalog.upsert(inZone('a'))
  take()
  catalog.upsert(inZone('b'))
  table.flush()
  expect(catalog.slices.get('demo/web-1' as ObjectKey)?.endpoints).toMatchObject([{ zone: 'b' }])
  expect(requests).toEqual([])
  expect(table.take({ full: false }).change.keys).toEqual([])
})

test('the changes of Services and slices that wait are counted until a sync takes them', () => {
  const { catalog, table, counts } = setUp()
  catalog.upsert(web)
  catalog.upsert(slice('demo/web-1', 'web', ['10.0.0.1']))
  table.flush()
  expect(counts.pending).toEqual({ services: 1, slices: 1 })
  table.take({ full: false })
  expect(counts.pending).toEqual({ services: 0, slices: 0 })
})

describe('what is wrong with a Service', () => {
  test('is told when the lists are complete, because a rival may still be on its way', async () => {
    const { catalog, table, told } = setUp({ initialised: false })
    const named = (name: string, clusterIP: string) =>
      service(`demo/${name}`, { clusterIP, externalIPs: ['192.0.2.7'], ports: [{ port: 80 }] })
    const [first, second] = [named('first', '10.96.0.4'), named('second', '10.96.0.3')]
    const odd = service('demo/odd', { clusterIP: '127.0.0.9', ports: [{ port: 80 }] })
    for (const it of [second, odd]) catalog.upsert(it)
    for (const name of ['second', 'odd']) catalog.upsert(sliceOf(name, '10.64.0.1'))
    await Promise.resolve()
    const mended = service('demo/mended', { clusterIP: '10.96.0.5', ports: [{ port: 80 }] })
    for (const clusterIP of ['127.0.0.8', '10.96.0.5']) {
      catalog.upsert({ ...mended, clusterIPs: { ipv4: clusterIP } })
      catalog.upsert(sliceOf('mended', clusterIP === '10.96.0.5' ? '10.64.0.2' : '10.64.0.1'))
      await Promise.resolve()
    }
    expect([table.pendingRoutes, told]).toEqual([1, []])
    catalog.replace('Service', [second, odd, first, mended])
    catalog.replace('EndpointSlice', [...catalog.slices.values()])
    expect(told.filter((it) => it.includes(' ')).sort()).toEqual([
      'demo/odd LoopbackAddress',
      'demo/second AddressInUse',
    ])
  })

  test('is told, and taken back when it is gone', () => {
    const { catalog, take, told } = setUp()
    catalog.upsert(service('demo/odd', { clusterIP: '127.0.0.5', ports: [{ port: 80 }] }))
    take()
    catalog.remove('Service', 'demo/odd' as ObjectKey)
    take()
    expect(told).toEqual(['demo/odd LoopbackAddress', 'demo/odd'])
  })

  test('is not looked for in a Service of the other family', () => {
    const { catalog, take, told } = setUp()
    catalog.upsert(service('demo/six', { clusterIP: 'fd00::1', ports: [{ port: 80 }] }))
    take()
    catalog.remove('Service', 'demo/six' as ObjectKey)
    take()
    expect(told).toEqual([])
  })
})

test('a table that is made late takes what is there as changes too', () => {
  const catalog = new Catalog()
  catalog.replace('Service', [web])
  catalog.replace('EndpointSlice', [
    slice('demo/web-1', 'web', ['10.0.0.1'], [{ name: '', port: 53, protocol: 'UDP' }]),
  ])
  let changes = 0
  const table = new RouteTable({
    catalog,
    family: 'ipv4',
    nodeName: 'here',
    nodeIP: '10.200.0.2',
    policy: usualPolicy,
    notices: { tell() {} },
    metrics: { ...silentMetrics, serviceChange: () => changes++, endpointChange: () => changes++ },
    startedAtMs: 0,
  })
  expect(changes).toBe(2)
  expect(table.take({ full: false })).toMatchObject({ change: { full: true }, needsConntrackCleanup: true })
})

test('every Service counts as a change in both families, a slice in its own', () => {
  const { catalog, counts } = setUp()
  catalog.upsert(web)
  catalog.upsert(service('demo/six', { clusterIP: 'fd00::1', ports: [{ port: 80 }] }))
  catalog.upsert(slice('demo/web-1', 'web', ['10.0.0.1']))
  catalog.upsert(slice('demo/web-6', 'web', ['fd00::1']))
  expect(counts).toMatchObject({ services: 2, slices: 1 })
})

test('a node port comes first at every address that the Node object names, as soon as it does', () => {
  const { catalog, take } = setUp()
  const addresses = (...external: readonly string[]) => [
    { type: 'InternalIP', address: '10.200.0.2' },
    ...external.map((address) => ({ type: 'ExternalIP', address })),
  ]
  const here = (...external: readonly string[]) =>
    record('Node', { metadata: { name: 'here' }, status: { addresses: addresses(...external) } })
  const spec = { clusterIP: '10.96.0.2', ports: [{ port: 30_080 }], externalIPs: ['203.0.113.7'] }
  catalog.upsert(service('demo/thief', spec))
  catalog.upsert(service('demo/open', { clusterIP: '10.96.0.1', ports: [{ port: 80, nodePort: 30_080 }] }))
  const thiefHas = () => addressesOf(take().view.routesByKey.get('demo/thief/TCP' as never), 'external-ip')
  expect(thiefHas()).toEqual(['203.0.113.7'])
  catalog.upsert(here('203.0.113.7'))
  expect(thiefHas()).toEqual([])
  catalog.upsert(here('203.0.113.8'))
  expect(thiefHas()).toEqual(['203.0.113.7'])
})

test("a node port at the API server's address is closed as soon as that address is the node's, and opened when it is not", () => {
  const policy = { ...usualPolicy, apiServers: [{ ip: '203.0.113.7', port: 30_443 }] }
  const { catalog, take } = setUp({ policy })
  const here = (...external: readonly string[]) =>
    record('Node', {
      metadata: { name: 'here' },
      status: { addresses: external.map((address) => ({ type: 'ExternalIP', address })) },
    })
  const spec = (nodePort: number, protocol = 'TCP') => ({ ports: [{ port: 80, nodePort, protocol }] })
  catalog.upsert(service('demo/thief', { clusterIP: '10.96.0.1', ...spec(30_443) }))
  catalog.upsert(service('demo/udp', { clusterIP: '10.96.0.2', ...spec(30_443, 'UDP') }))
  catalog.upsert(service('demo/beside', { clusterIP: '10.96.0.3', ...spec(30_444) }))
  const open = () =>
    [...take().view.routesByKey.values()]
      .filter(({ entrances }) => entrances.some(({ kind }) => kind === 'node-port'))
      .map(({ name }) => name)
      .sort()
  expect(open()).toEqual(['beside', 'thief', 'udp'])
  catalog.upsert(here('203.0.113.7'))
  expect(open()).toEqual(['beside', 'udp'])
  catalog.upsert(here('203.0.113.8'))
  expect(open()).toEqual(['beside', 'thief', 'udp'])
})

test('another policy routes everything anew, when the next sync takes its routes', () => {
  const { catalog, table, requests, take } = setUp()
  const ip = '198.51.100.7'
  catalog.upsert(service('demo/external', { clusterIP: '10.96.0.1', ports: [{ port: 80 }], externalIPs: [ip] }))
  const externalIn = ({ view }: ReturnType<typeof take>) =>
    addressesOf(view.routesByKey.get('demo/external/TCP' as never), 'external-ip')
  expect(externalIn(take())).toEqual([ip])
  table.setPolicy({ ...usualPolicy, allowExternalIPs: false })
  expect(requests).toEqual([])
  const taken = table.take({ full: false })
  expect(taken.change).toMatchObject({ full: false, keys: ['demo/external/TCP'] })
  expect(externalIn(taken)).toEqual([])
  table.setPolicy({ ...usualPolicy, allowExternalIPs: false })
  expect(table.take({ full: false }).change).toMatchObject({ full: false, keys: [] })
})

test('who watches the view hears which routes a sync has put into it, and how many wait', () => {
  const { catalog, table, take } = setUp()
  const heard: string[][] = []
  const end = table.watchView((keys) => heard.push([...keys]))
  catalog.upsert(web)
  catalog.upsert(db)
  table.flush()
  expect([table.pendingRoutes, heard]).toEqual([2, []])
  take()
  expect([table.pendingRoutes, heard]).toEqual([0, [['demo/web/TCP', 'demo/db/TCP']]])
  take(true)
  expect(heard).toHaveLength(1)
  catalog.remove('Service', 'demo/db' as ObjectKey)
  take()
  expect(heard[1]).toEqual(['demo/db/TCP'])
  end()
  catalog.remove('Service', 'demo/web' as ObjectKey)
  take()
  expect(heard).toHaveLength(2)
})

describe('endpoints that this node takes care of', () => {
  async function cared(traffic: object, policy = usualPolicy) {
    const clock = new FakeClock()
    const state = { problem: undefined as string | undefined }
    const probe = async ({ ip }: { readonly ip: string }) => (ip === '10.0.0.2' ? state.problem : undefined)
    const care = new EndpointCare({ clock, probe, random: () => 0.5 })
    const parts = setUp({ care, policy })
    const stop = new AbortController()
    const running = care.run(stop.signal)
    parts.catalog.upsert({ ...web, traffic })
    parts.catalog.upsert(slice('demo/web-1', 'web', ['10.0.0.1']))
    parts.take()
    parts.catalog.upsert(slice('demo/web-1', 'web', ['10.0.0.1', '10.0.0.2']))
    const weights = () =>
      parts.table.view.routesByKey
        .values()
        .next()
        .value?.clusterEndpoints.map(({ weight }: { weight: number }) => weight)
    const end = async () => {
      stop.abort()
      await running
    }
    return { clock, state, end, weights, ...parts }
  }

  test('are not those that come with the rest of the first list', async () => {
    const care = new EndpointCare({ clock: new FakeClock(), probe: async () => undefined, random: () => 0.5 })
    const { catalog, table } = setUp({ care, initialised: false })
    const slices = ['1', '2'].map((id) => slice(`demo/web-${id}`, 'web', [`10.0.0.${id}`]))
    for (const it of [{ ...web, traffic: { slowStartMs: 10_000 } }, ...slices]) {
      catalog.upsert(it)
      await Promise.resolve()
    }
    catalog.replace('Service', [...catalog.services.values()])
    catalog.replace('EndpointSlice', slices)
    const [route] = table.take({ full: false }).view.routesByKey.values()
    const weights = route?.clusterEndpoints.map(({ weight }) => weight) ?? []
    expect([weights.length, new Set(weights).size]).toEqual([2, 1])
  })

  test('get their share step by step, each step a sync', async () => {
    const { clock, take, requests, weights, end } = await cared({ slowStartMs: 10_000 })
    take()
    expect(weights()).toEqual([10, 1])
    await clock.advance(1_000)
    expect(requests).toEqual([{ urgent: false, initialised: false }])
    expect(take().change.causes).toEqual(['slow start of demo/web'])
    expect(weights()).toEqual([10, 2])
    for (let step = 0; step < 8; step++) {
      await clock.advance(1_000)
      take()
    }
    expect(weights()).toEqual([1, 1])
    await clock.advance(60_000)
    expect(requests).toEqual([])
    await end()
  })

  test('cause no sync in a mode that knows no weights', async () => {
    const policy = { ...usualPolicy, abilities: { ...usualPolicy.abilities, weights: false } }
    const { clock, take, requests, weights, told, end } = await cared({ slowStartMs: 10_000 }, policy)
    take()
    expect(weights()).toEqual([1, 1])
    await clock.advance(60_000)
    expect(requests).toEqual([])
    expect(told.at(-1)).toBe('demo/web UnsupportedAnnotation')
    await end()
  })

  test('are left out at once when they cannot be reached, and said so', async () => {
    const { clock, state, take, requests, weights, told, end } = await cared({ healthCheck: { kind: 'tcp' } })
    take()
    state.problem = 'connection refused'
    await clock.advance(8_000)
    expect(requests).toEqual([{ urgent: true, initialised: false }])
    expect(take().change.causes).toEqual(['health check of demo/web'])
    expect(weights()).toEqual([1])
    expect(told.at(-1)).toBe('demo/web UnreachableEndpoint')
    state.problem = undefined
    await clock.advance(6_000)
    take()
    expect(weights()).toEqual([1, 1])
    expect(told.at(-1)).toBe('demo/web')
    await end()
  })

  test('serve again when the check becomes another one, until that one fails too', async () => {
    const { clock, state, take, catalog, weights, told, end } = await cared({ healthCheck: { kind: 'tcp' } })
    take()
    state.problem = 'connection refused'
    await clock.advance(8_000)
    take()
    expect(weights()).toEqual([1])
    catalog.upsert({ ...web, traffic: { healthCheck: { kind: 'http', path: '/ready' } } })
    take()
    expect(weights()).toEqual([1, 1])
    expect(told.at(-1)).toBe('demo/web')
    await clock.advance(8_000)
    take()
    expect(weights()).toEqual([1])
    state.problem = undefined
    await clock.advance(6_000)
    take()
    expect(weights()).toEqual([1, 1])
    await end()
  })

  test.each([
    ['keep their weights when none of them is reached', 'ip:10.0.0.1=95, *=5', ['10.0.0.1', '10.0.0.2'], [95, 5]],
    ['stay drained while others have a weight, reached or not', 'ip:10.0.0.1=0, *=1', ['10.0.0.2'], [1]],
  ])('%s', async (_, weights, unreached, expected) => {
    const clock = new FakeClock()
    const probe = async ({ ip }: { readonly ip: string }) => (unreached.includes(ip) ? 'no answer' : undefined)
    const care = new EndpointCare({ clock, probe, random: () => 0.5 })
    const { catalog, table, take } = setUp({ care })
    const stop = new AbortController()
    const running = care.run(stop.signal)
    const annotations = { 'fairlead.dev/weights': weights, 'fairlead.dev/health-check': 'tcp' }
    const spec = { clusterIP: '10.96.0.1', ports: [{ port: 80 }] }
    catalog.upsert(record('Service', rawService('demo/web', spec, {}, { annotations })))
    catalog.upsert(slice('demo/web-1', 'web', ['10.0.0.1', '10.0.0.2']))
    take()
    for (let seconds = 0; seconds < 20; seconds += 1) {
      await clock.advance(1_000)
      take()
    }
    const [route] = table.view.routesByKey.values()
    expect(route?.clusterEndpoints.map(({ weight }) => weight)).toEqual(expected)
    stop.abort()
    await running
  })
})
