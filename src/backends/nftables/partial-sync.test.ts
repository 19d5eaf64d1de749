/** What each kind of change sends to the kernel: what it is about, and nothing else. */
import { describe, expect, test } from 'vitest'
import type { Route } from '../../core/route.ts'
import { testEndpoint, testRoute } from '../../core/testing/routes.ts'
import { describeOperations } from './testing/describe-operations.ts'
import { ProxiedNode } from './testing/proxied-node.ts'

const never = new AbortController().signal
const here = (host: number) => testEndpoint(`10.77.1.${host}`, 8080, { isLocal: true })
const there = (host: number) => testEndpoint(`10.77.2.${host}`, 8080)

function web(overrides: Parameters<typeof testRoute>[1] = {}): Route {
  return testRoute('shop/web:http', { clusterIP: '10.112.0.21', ...overrides })
}

/** Others that are there before and after, so that nothing is the first or last of its kind. */
const others = [
  testRoute('shop/one', { clusterIP: '10.112.0.31', endpoints: [there(1)] }),
  testRoute('shop/two', { clusterIP: '10.112.0.32', endpoints: [there(1), there(2)] }),
  testRoute('shop/none', { clusterIP: '10.112.0.33' }),
]

/** Sorted: the table itself refuses an order that does not work. */
async function operations(before: readonly Route[], after: readonly Route[], options: NodeOptions = {}) {
  const node = new ProxiedNode()
  await node.sync([...others, ...before], { full: true })
  node.table.takeOperations()
  const { reads } = node.table
  options.change?.(node)
  await node.sync([...others, ...after])
  expect(node.table.reads).toBe(reads)
  return describeOperations(node.table.takeOperations()).toSorted()
}

interface NodeOptions {
  readonly change?: (node: ProxiedNode) => void
}

describe('a partial sync, which reads nothing,', () => {
  test('sends nothing when nothing changed', async () => {
    const node = new ProxiedNode()
    await node.sync(others, { full: true })
    const { commits } = node.table
    await node.sync(others)
    expect(node.table.commits).toBe(commits)
  })

  test('adds four elements for a new Service with an endpoint on this node', async () => {
    expect(await operations([], [web({ endpoints: [here(5)] })])).toEqual([
      '+ cluster-ips 10.112.0.21',
      '+ endpoints 10.112.0.21 . tcp . 80 . 0 : 10.77.1.5 . 8080',
      '+ hairpin 10.77.1.5 . 10.77.1.5 . tcp . 8080',
      '+ services 10.112.0.21 . tcp . 80 : goto pick-1',
    ])
  })

  test('adds two elements for a new Service without endpoints', async () => {
    expect(await operations([], [web()])).toEqual([
      '+ cluster-ips 10.112.0.21',
      '+ no-endpoints 10.112.0.21 . tcp . 80 : goto reject-connection',
    ])
  })

  test('moves the address between maps in one transaction when the first endpoint appears', async () => {
    expect(await operations([web()], [web({ endpoints: [there(5)] })])).toEqual([
      '+ endpoints 10.112.0.21 . tcp . 80 . 0 : 10.77.2.5 . 8080',
      '+ services 10.112.0.21 . tcp . 80 : goto pick-1',
      '- no-endpoints 10.112.0.21 . tcp . 80',
    ])
  })

  test('replaces one element when an endpoint elsewhere is replaced', async () => {
    const before = web({ endpoints: [there(5), there(6)] })
    expect(await operations([before], [web({ endpoints: [there(5), there(7)] })])).toEqual([
      '+ endpoints 10.112.0.21 . tcp . 80 . 1 : 10.77.2.7 . 8080',
      '- endpoints 10.112.0.21 . tcp . 80 . 1',
    ])
  })

  test('adds the endpoint and points to another chain when there is one more', async () => {
    expect(await operations([web({ endpoints: [there(5)] })], [web({ endpoints: [there(5), there(6)] })])).toEqual([
      '+ endpoints 10.112.0.21 . tcp . 80 . 1 : 10.77.2.6 . 8080',
      '+ services 10.112.0.21 . tcp . 80 : goto pick-2',
      '- services 10.112.0.21 . tcp . 80',
    ])
  })

  test('makes a chain for a number of endpoints that nobody had', async () => {
    const three = [there(5), there(6), there(7)]
    const sent = await operations([web({ endpoints: three.slice(1) })], [web({ endpoints: three })])
    expect(sent.filter((line) => line.endsWith(' pick-3'))).toEqual([
      '+ services 10.112.0.21 . tcp . 80 : goto pick-3',
      'add chain pick-3',
      'add rule pick-3',
      'add rule pick-3',
      'flush chain pick-3',
    ])
  })

  const outside = { externalIPs: ['192.0.2.60'] }

  test.each([
    [
      'in the cluster',
      web({ endpoints: [there(5), there(6)] }),
      web({ endpoints: [there(5), there(6), there(7)] }),
      'pick-3',
    ],
    [
      'on this node',
      web({ ...outside, externalPolicy: 'Local', endpoints: [here(5), here(6), there(7)] }),
      web({ ...outside, externalPolicy: 'Local', endpoints: [here(5), here(6), here(7)] }),
      'pick-local-3',
    ],
  ])(
    'has the chain for a new number of endpoints %s in the transaction that uses it',
    async (_, before, after, name) => {
      const node = new ProxiedNode()
      await node.sync([...others, before], { full: true })
      node.table.transactions.length = 0
      await node.sync([...others, after])
      const [sent = []] = node.table.transactions.map(describeOperations)
      expect(sent).toContain(`add chain ${name}`)
      expect(sent.filter((line) => line.startsWith('+ ') && line.endsWith(`goto ${name}`))).toHaveLength(1)
    },
  )

  test('makes a chain that leads to another one in a transaction before the one that uses it', async () => {
    const three = [there(5), there(6), there(7)]
    const node = new ProxiedNode()
    await node.sync([...others, web({ ...outside, endpoints: three.slice(1) })], { full: true })
    node.table.transactions.length = 0
    await node.sync([...others, web({ ...outside, endpoints: three })])
    const [first = [], second = []] = node.table.transactions.map(describeOperations)
    expect(first).toEqual(expect.arrayContaining(['add chain pick-3', 'add chain external-3', 'add rule external-3']))
    expect(first).not.toContain('add rule pick-3')
    expect(second).toEqual(
      expect.arrayContaining(['add rule pick-3', '+ services 192.0.2.60 . tcp . 80 : goto external-3']),
    )
  })

  test('removes a chain when nobody has that number of endpoints any more, in a transaction of its own', async () => {
    const three = [there(5), there(6), there(7)]
    const node = new ProxiedNode()
    await node.sync([...others, web({ endpoints: three })], { full: true })
    node.table.transactions.length = 0
    await node.sync([...others, web({ endpoints: three.slice(1) })])
    expect(node.table.transactions.map(describeOperations)[1]).toEqual(['flush chain pick-3', 'delete chain pick-3'])
  })

  test('deletes what a Service had when it is gone', async () => {
    expect(await operations([web({ endpoints: [here(5)] })], [])).toEqual([
      '- cluster-ips 10.112.0.21',
      '- endpoints 10.112.0.21 . tcp . 80 . 0',
      '- hairpin 10.77.1.5 . 10.77.1.5 . tcp . 8080',
      '- services 10.112.0.21 . tcp . 80',
    ])
  })

  test('rejects at once when the last endpoints are gone', async () => {
    expect(await operations([web({ endpoints: [there(5), there(6)] })], [web()])).toEqual([
      '+ no-endpoints 10.112.0.21 . tcp . 80 : goto reject-connection',
      '- endpoints 10.112.0.21 . tcp . 80 . 0',
      '- endpoints 10.112.0.21 . tcp . 80 . 1',
      '- services 10.112.0.21 . tcp . 80',
    ])
  })

  test('keeps what another Service still uses', async () => {
    const shared = { endpoints: [here(5)], clusterIP: '10.112.0.21' }
    const dns = testRoute('shop/web:dns', { ...shared, port: 53 })
    expect(await operations([web(shared), dns], [web(shared)])).toEqual([
      '- endpoints 10.112.0.21 . tcp . 53 . 0',
      '- services 10.112.0.21 . tcp . 53',
    ])
  })

  test('hands an address over to the next Service that names it, whole', async () => {
    const vip = { loadBalancerIPs: ['203.0.113.50'] }
    const first = testRoute('shop/a', {
      ...vip,
      clusterIP: '10.112.0.41',
      endpoints: [there(5), there(6)],
      sourceRanges: ['198.18.0.0/15'],
    })
    const second = testRoute('shop/b', {
      ...vip,
      clusterIP: '10.112.0.42',
      endpoints: [there(7)],
      sourceRanges: ['198.18.0.0/16'],
    })
    const sent = await operations([first, second], [second])
    expect(sent.filter((line) => line.includes('203.0.113.50'))).toEqual([
      '+ endpoints 203.0.113.50 . tcp . 80 . 0 : 10.77.2.7 . 8080',
      '+ services 203.0.113.50 . tcp . 80 : goto external-1',
      '+ source-ranges 203.0.113.50 . tcp . 80 . 198.18.0.0/16',
      '- endpoints 203.0.113.50 . tcp . 80 . 0',
      '- endpoints 203.0.113.50 . tcp . 80 . 1',
      '- services 203.0.113.50 . tcp . 80',
      '- source-ranges 203.0.113.50 . tcp . 80 . 198.18.0.0/15',
    ])
  })

  test('follows the ServiceCIDRs and the addresses of the node without touching a rule', async () => {
    const change = (node: ProxiedNode) => {
      node.serviceCidrs = ['10.112.0.0/16', '10.112.4.0/24']
      node.state = { ...node.state, nodePortIps: ['198.51.100.11'] }
    }
    expect(await operations([], [], { change })).toEqual([
      '+ node-ips 198.51.100.11',
      '+ service-cidrs 10.112.0.0/16',
      '- node-ips 198.51.100.10',
      '- service-cidrs 10.112.0.0/24',
    ])
  })
})

describe('with client-IP affinity', () => {
  const sticky = (endpoints: Route['endpoints'], affinitySeconds = 10_800) => web({ endpoints, affinitySeconds })

  test('an endpoint that leaves takes its clients along', async () => {
    expect(await operations([sticky([there(5), there(6)])], [sticky([there(5)])])).toEqual([
      'add chain sticky/shop/web/tcp/http',
      'add rule sticky/shop/web/tcp/http',
      'add rule sticky/shop/web/tcp/http',
      'delete chain endpoint/shop/web/tcp/http/10.77.2.6/8080',
      'delete set affinity/shop/web/tcp/http/10.77.2.6/8080',
      'flush chain endpoint/shop/web/tcp/http/10.77.2.6/8080',
      'flush chain endpoint/shop/web/tcp/http/10.77.2.6/8080',
      'flush chain sticky/shop/web/tcp/http',
    ])
  })

  test('another time-out declares the sets again and leaves the chains alone', async () => {
    expect(await operations([sticky([there(5)])], [sticky([there(5)], 60)])).toEqual([
      'add set affinity/shop/web/tcp/http/10.77.2.5/8080',
    ])
  })

  test('without it, sets and chains go', async () => {
    const sent = await operations([sticky([there(5)])], [web({ endpoints: [there(5)] })])
    expect(sent.filter((line) => !line.startsWith('flush'))).toEqual([
      '+ endpoints 10.112.0.21 . tcp . 80 . 0 : 10.77.2.5 . 8080',
      '+ services 10.112.0.21 . tcp . 80 : goto pick-1',
      '- services 10.112.0.21 . tcp . 80',
      'delete chain endpoint/shop/web/tcp/http/10.77.2.5/8080',
      'delete chain sticky/shop/web/tcp/http',
      'delete set affinity/shop/web/tcp/http/10.77.2.5/8080',
    ])
  })
})

test('packets between pods are looked up in addresses of Services only while some are in a range of theirs', async () => {
  const node = new ProxiedNode()
  const { state } = node
  node.state = { ...state, settings: { ...state.settings, untrackedRanges: ['10.77.0.0/16'] } }
  const inRange = web({ externalIPs: ['10.77.200.1', '203.0.113.50'], endpoints: [there(5)] })
  const told: boolean[] = []
  const sync = async (routes: readonly Route[], serviceCidrs: readonly string[] = []) => {
    node.serviceCidrs = serviceCidrs
    await node.sync(routes, { full: told.length === 0 })
    expect(await node.backend.compare(never)).toEqual({ kind: 'as written' })
    const sets = (await node.table.list(never))?.sets
    const [{ statements } = { statements: [] }] = node.table.rulesOf('prerouting-raw') ?? []
    const isAsked = statements.some((it) => it.kind === 'in set' && it.set === 'tracked-ips')
    expect(sets?.includes('tracked-ips')).toBe(isAsked)
    told.push(isAsked)
  }
  await sync(others)
  await sync([...others, inRange])
  await sync([...others, inRange, testRoute('shop/same', { externalIPs: ['10.77.200.1'] })])
  await sync(others)
  await sync(others, ['10.77.128.0/20'])
  await sync(others, ['10.0.0.0/8'])
  await sync(others, ['10.112.0.0/16'])
  expect(told).toEqual([false, true, true, false, true, true, false])
})
