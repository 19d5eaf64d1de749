/** The pages about routes and Services, asked for what is in a table of routes. */
import { expect, test } from 'vitest'
import type { ServiceRecord } from '../../../api/records.ts'
import { Catalog } from '../../../core/catalog.ts'
import { silentMetrics } from '../../../core/proxy-metrics.ts'
import { RouteTable } from '../../../core/routing/route-table.ts'
import { silentNotices } from '../../../core/routing/service-notices.ts'
import { usualPolicy } from '../../../core/routing/serving-policy.ts'
import { service, slice } from '../../../core/testing/objects.ts'
import type { DebugPage } from './debug-page.ts'
import { servicePage } from './service-page.ts'
import { viewPage } from './view-page.ts'

const web = service('demo/web', {
  type: 'NodePort',
  clusterIP: '10.96.0.1',
  externalTrafficPolicy: 'Local',
  ports: [{ port: 80, nodePort: 30080 }],
})
const db = service('demo/db', { clusterIP: '10.96.0.2', ports: [{ port: 5432 }] })
const dns = service('kube-system/dns', {
  clusterIP: '10.96.0.10',
  ports: [
    { name: 'dns', port: 53, protocol: 'UDP' },
    { name: 'dns-tcp', port: 53 },
  ],
})
const webSlice = slice('demo/web-1', 'web', [
  { addresses: ['10.0.0.1'], zone: 'b' },
  { addresses: ['10.0.0.2'], conditions: { ready: false, serving: true, terminating: true } },
])

test('/debug/view shows each route in one place, in short', async () => {
  const { view } = setUp()
  expect(await json(view, '')).toEqual({
    mode: 'nftables',
    safePreStop: 7,
    families: {
      ipv4: {
        node: { name: 'here', zone: '', ip: '10.200.0.2' },
        serviceCidrs: [],
        routes: 4,
        endpoints: 2,
      },
    },
    matching: 4,
    routes: [
      {
        key: 'demo/db/TCP',
        family: 'ipv4',
        entrances: ['cluster-ip 10.96.0.2:5432'],
        endpoints: { listed: 0, reachable: 0, cluster: 0, local: 0 },
        outcome: { internal: 'reject' },
      },
      {
        key: 'demo/web/TCP',
        family: 'ipv4',
        entrances: ['cluster-ip 10.96.0.1:80', 'node-port 30080'],
        endpoints: { listed: 2, reachable: 1, cluster: 1, local: 0 },
        outcome: { internal: 'forward to 1', external: 'drop; from this node forward to 1' },
      },
      expect.objectContaining({ key: 'kube-system/dns:dns-tcp/TCP' }),
      expect.objectContaining({ key: 'kube-system/dns:dns/UDP' }),
    ],
  })
})

test('/debug/view comes in pages, and can be narrowed down', async () => {
  const { view } = setUp()
  const keys = async (query: string) => {
    const { routes, next } = (await json(view, query)) as { routes: { key: string }[]; next?: string }
    return { keys: routes.map(({ key }) => key), next }
  }
  const first = await keys('limit=3')
  expect(first.keys).toEqual(['demo/db/TCP', 'demo/web/TCP', 'kube-system/dns:dns-tcp/TCP'])
  expect(await keys(`limit=3&after=${encodeURIComponent(first.next ?? '')}`)).toEqual({
    keys: ['kube-system/dns:dns/UDP'],
    next: undefined,
  })
  expect((await keys('namespace=kube-system')).keys).toHaveLength(2)
  expect((await keys('namespace=demo&service=web')).keys).toEqual(['demo/web/TCP'])
  expect((await keys('family=ipv6')).keys).toEqual([])
  for (const query of ['limit=x', 'limit=100000', 'family=ipv5'])
    expect(await ask(view, [], query)).toMatchObject({ kind: 'refused', status: 400 })
})

test('/debug/view?full shows all of a route, each endpoint once', async () => {
  const { view } = setUp()
  expect(await json(view, 'service=web&full')).toMatchObject({
    routes: [
      {
        clusterIP: '10.96.0.1',
        entrances: [
          { kind: 'cluster-ip', at: 'cluster-ip 10.96.0.1:80', allowed: 'everybody' },
          { kind: 'node-port', outside: { kind: 'drop', policy: 'Local' } },
        ],
        endpoints: [
          { address: '10.0.0.1:8080', state: 'ready', isReachable: true },
          { address: '10.0.0.2:8080', state: 'terminating, serving', isReachable: false },
        ],
        clusterEndpoints: ['10.0.0.1:8080'],
        internal: { inside: { kind: 'forward', policy: 'Cluster', to: ['10.0.0.1:8080'] } },
      },
    ],
  })
})

test('/debug/services/NAMESPACE/NAME says all about one Service', async () => {
  const { services } = setUp()
  expect(await ask(services, ['demo', 'web'])).toMatchObject({
    kind: 'json',
    value: {
      service: { kind: 'Service', namespace: 'demo', name: 'web', externalTrafficPolicy: 'Local' },
      hint: 'about demo/web',
      routes: [
        { key: 'demo/web/TCP', endpoints: [{ address: '10.0.0.1:8080', zone: 'b' }, { address: '10.0.0.2:8080' }] },
      ],
      slices: [{ name: 'web-1', endpoints: 2 }],
    },
  })
})

test('a Service that is not there is told, with the one that may be meant', async () => {
  const { services } = setUp()
  const message = async (...rest: string[]) => {
    const answer = await ask(services, rest)
    return answer.kind === 'refused' ? `${answer.status} ${answer.message}` : answer
  }
  expect(await message('demo', 'dns')).toBe('404 this node knows no Service demo/dns; did you mean kube-system/dns?')
  expect(await message('demo', 'wep')).toBe('404 this node knows no Service demo/wep; did you mean demo/web?')
  expect(await message('x', 'y')).toBe('404 this node knows no Service x/y; /debug/view lists them')
  for (const rest of [[], [''], ['demo'], ['demo', 'web', 'x']]) expect(await message(...rest)).toMatch(/^400 name a/)
})

test('with 10,000 Services a page is as small as with a few', async () => {
  const many = Array.from({ length: 10_000 }, (_, index) =>
    service(`many/s${index}`, { clusterIP: `10.97.${index >> 8}.${index & 255}`, ports: [{ port: 80 }] }),
  )
  const { view } = setUp(many)
  const text = JSON.stringify(await json(view, ''))
  expect(text.length).toBeLessThan(50_000)
  expect(JSON.stringify(await json(view, 'limit=1000&full')).length).toBeLessThan(4_000_000)
})

function setUp(others: readonly ServiceRecord[] = []) {
  const catalog = new Catalog()
  const table = new RouteTable({
    catalog,
    family: 'ipv4',
    nodeName: 'here',
    nodeIP: '10.200.0.2',
    policy: usualPolicy,
    notices: silentNotices,
    metrics: silentMetrics,
    startedAtMs: 0,
  })
  catalog.replace('Service', [web, db, dns, ...others])
  catalog.replace('EndpointSlice', [webSlice])
  table.take({ full: true })
  const views = () => [table.view]
  return {
    view: viewPage({ mode: 'nftables', views, summary: () => ({ safePreStop: 7 }) }),
    services: servicePage({
      catalog,
      views,
      more: { hint: async (key) => `about ${key}`, nothing: () => undefined },
    }),
  }
}

function ask(page: DebugPage, rest: readonly string[], query = '') {
  return page.answer({ rest, query: new URLSearchParams(query) }, new AbortController().signal)
}

async function json(page: DebugPage, query: string): Promise<unknown> {
  const answer = await ask(page, [], query)
  if (answer.kind !== 'json') throw new Error(JSON.stringify(answer))
  return JSON.parse(JSON.stringify(answer.value))
}
