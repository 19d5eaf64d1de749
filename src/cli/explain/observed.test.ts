import { expect, test } from 'vitest'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import type { RouteTraffic } from '../../core/traffic.ts'
import { observedTraffic } from './observed.ts'

const [busy, idle, quiet] = ['10.64.0.1', '10.64.0.2', '10.64.0.3'].map((ip) => testEndpoint(ip, 80))
const web = testRoute('shop/web', { endpoints: [idle!, quiet!, busy!] })

function observed(endpoints: Record<string, number>) {
  const counted = new Map(Object.entries(endpoints).map(([address, open]) => [address, { open }]))
  const traffic: RouteTraffic = { endpoints: counted }
  const carried = [{ view: testView(web), traffic: new Map([[web.key, traffic]]) }]
  const book = { readSoon: async () => ({ carried, uncounted: [] }) }
  return observedTraffic(book as never, 'ipv4', web.key)
}

test('the busiest endpoint comes first, and idle ones are not left out', async () => {
  const open = (await observed({ '10.64.0.3:80': 2, '10.64.0.1:80': 40, '10.64.0.9:80': 3 }))?.openConnections
  expect(Object.entries(open ?? {})).toEqual([
    ['10.64.0.1:80', 40],
    ['10.64.0.9:80', 3],
    ['10.64.0.3:80', 2],
    ['10.64.0.2:80', 0],
  ])
})

test('failed dials are told, the most first, though nothing is open', async () => {
  const endpoints = new Map([
    ['10.64.0.1:80', { open: 0, dialFailures: 0, lastUsedMs: 0 }],
    ['10.64.0.2:80', { open: 0, dialFailures: 1 }],
    ['10.64.0.3:80', { open: 0, dialFailures: 3, lastUsedMs: 1000 }],
  ])
  const carried = [{ view: testView(web), traffic: new Map([[web.key, { endpoints }]]) }]
  const book = { readSoon: async () => ({ carried, uncounted: [] }) }
  const seen = await observedTraffic(book as never, 'ipv4', web.key)
  expect(seen?.openConnections).toBeUndefined()
  expect(Object.entries(seen?.failedDials ?? {})).toEqual([
    ['10.64.0.3:80', { count: 3, lastUsed: '1970-01-01T00:00:01.000Z' }],
    ['10.64.0.2:80', { count: 1 }],
  ])
})

test('nothing is said where nothing is open', async () => {
  expect(await observed({ '10.64.0.1:80': 0 })).toBeUndefined()
})

test('why nothing is known is said, for the family that was asked', async () => {
  const uncounted = [{ family: 'ipv4', why: 'the counters are still being read' }] as const
  const book = { readSoon: async () => ({ carried: [], uncounted }) }
  expect(await observedTraffic(book, 'ipv4', web.key)).toEqual({ uncounted: 'the counters are still being read' })
  expect(await observedTraffic(book, 'ipv6', web.key)).toBeUndefined()
})
