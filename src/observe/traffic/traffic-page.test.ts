import { expect, test } from 'vitest'
import type { RouteKey } from '../../core/route.ts'
import { silentLogger } from '../../core/logger.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import type { RouteTraffic } from '../../core/traffic.ts'
import { TrafficBook } from './traffic-book.ts'
import { trafficPage } from './traffic-page.ts'
import type { TrafficTable } from './traffic-rows.ts'

const never = new AbortController().signal
const [one, two] = [testEndpoint('10.64.0.1', 80), testEndpoint('10.64.0.2', 80)]
const web = testRoute('shop/web:http', { endpoints: [one, two], clusterIP: '10.96.0.7' })
const db = testRoute('shop/db', { clusterIP: '10.96.0.8' })
const dns = testRoute('kube-system/dns', { clusterIP: '10.96.0.9', protocol: 'UDP' })
const carried: readonly (readonly [RouteKey, RouteTraffic])[] = [
  [
    web.key,
    {
      connections: 10,
      open: 3,
      bytesIn: 10,
      bytesOut: 20,
      endpoints: new Map([
        [one.address, { connections: 7, open: 3 }],
        ['10.64.0.9:80', { open: 1 }],
      ]),
    },
  ],
  [db.key, { connections: 20, open: 0, bytesIn: 5, bytesOut: 0, turnedAway: { 'no-endpoint': 4 } }],
  [dns.key, { connections: 1, open: 1 }],
]

function page(traffic: readonly (readonly [RouteKey, RouteTraffic])[] = carried, seriesLimit = 2000) {
  const clock = new FakeClock()
  const now = new Map(traffic)
  const source = {
    view: () => testView(web, db, dns),
    traffic: () => Promise.resolve(new Map(now)),
    trafficNote: () => 'bytes: accounting is off',
  }
  const asked = trafficPage(
    new TrafficBook({
      clock,
      signal: never,
      log: silentLogger,
      sources: [source, { ...source, view: () => testView() }],
    }),
    () => seriesLimit,
  )
  const ask = (query = '') => asked.answer({ rest: [], query: new URLSearchParams(query) }, never)
  const table = async (query = ''): Promise<TrafficTable> => {
    const answer = await ask(query)
    if (answer.kind !== 'json') throw new Error(JSON.stringify(answer))
    return answer.value as TrafficTable
  }
  const names = async (query: string) => (await table(query)).services.map(({ service }) => service)
  return { clock, now, ask, table, names }
}

test('sorts as asked, and unknown comes last', async () => {
  const { names } = page()
  expect(await names('sort=connections')).toEqual(['shop/db', 'shop/web:http', 'kube-system/dns'])
  expect(await names('sort=open')).toEqual(['shop/web:http', 'kube-system/dns', 'shop/db'])
  expect(await names('sort=bytes')).toEqual(['shop/web:http', 'shop/db', 'kube-system/dns'])
  expect(await names('sort=failures')).toEqual(['shop/db', 'kube-system/dns', 'shop/web:http'])
  expect(await names('sort=skew')).toEqual(['shop/web:http', 'kube-system/dns', 'shop/db'])
  expect(await names('sort=name')).toEqual(['kube-system/dns', 'shop/db', 'shop/web:http'])
})

test('a namespace, a part of a name, of an address or of an endpoint chooses', async () => {
  const { names } = page()
  expect(await names('namespace=kube-system')).toEqual(['kube-system/dns'])
  expect(await names('filter=/d')).toEqual(['shop/db', 'kube-system/dns'])
  expect(await names('filter=10.96.0.8')).toEqual(['shop/db'])
  expect(await names('filter=10.64.0.2')).toEqual(['shop/web:http'])
})

test('a limit cuts the list, and says how many there are', async () => {
  expect(await page().table('limit=1')).toMatchObject({ total: 3, services: [{ service: 'shop/db' }] })
})

test('a row says what is known: an even share, who is gone, and what nobody got', async () => {
  const { services, bytes } = await page().table('endpoints=true&sort=skew')
  expect(bytes).toBe('all')
  expect(services[0]).toMatchObject({
    service: 'shop/web:http',
    address: '10.96.0.7:80',
    endpointCount: 2,
    skew: { even: 1.5, most: 3, ratio: 2 },
    endpoints: [
      { address: '10.64.0.1:80', connections: 7, open: 3 },
      { address: '10.64.0.2:80' },
      { address: '10.64.0.9:80', open: 1, isGone: true },
    ],
  })
  expect(services.find(({ service }) => service === 'shop/db')).toMatchObject({ turnedAway: { 'no-endpoint': 4 } })
  expect((await page().table()).services[0]).not.toHaveProperty('endpoints')
})

test('rates are those since the reading before', async () => {
  const { clock, now, table, names } = page()
  expect((await table()).services[0]).not.toHaveProperty('connectionRate')
  await clock.advance(2_000)
  now.set(dns.key, { connections: 11, open: 1 })
  const [first] = (await table('sort=rate')).services
  expect(first).toMatchObject({ service: 'kube-system/dns', connectionRate: 5, lastUsed: expect.any(String) })
  expect(await names('sort=last-use&limit=1')).toEqual(['kube-system/dns'])
})

test('says which bytes are known', async () => {
  expect(await page([[web.key, { connections: 1 }]]).table()).toMatchObject({ bytes: 'unknown' })
  expect(await page([[web.key, { openBytesIn: 0 }]]).table()).toMatchObject({ bytes: 'of open connections' })
})

test.each(['sort=size', 'limit=0', 'limit=many', 'limit=5001'])(
  '%s is refused with what to ask instead',
  async (query) => {
    expect(await page().ask(query)).toMatchObject({ kind: 'refused', status: 400 })
  },
)

test('what is not known is said once, and that /metrics has less', async () => {
  expect((await page().table()).notes).toEqual(['bytes: accounting is off'])
  expect((await page(carried, 4).table()).notes[1]).toBe(
    '/metrics has no series of endpoints: 5 Service ports and endpoints are more than --service-series-limit=4',
  )
  expect((await page(carried, 2).table()).notes[1]).toBe(
    '/metrics has no series of Services: 3 Service ports are more than --service-series-limit=2',
  )
})
