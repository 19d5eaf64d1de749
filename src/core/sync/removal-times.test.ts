/** Through the table, because that is who knows what is programmed. */
import { expect, test } from 'vitest'
import type { SliceRecord } from '../../api/records.ts'
import { Catalog } from '../catalog.ts'
import { silentMetrics } from '../proxy-metrics.ts'
import { RouteTable } from '../routing/route-table.ts'
import { silentNotices } from '../routing/service-notices.ts'
import { usualPolicy } from '../routing/serving-policy.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { service, slice } from '../testing/objects.ts'

const web = service('demo/web', { clusterIP: '10.96.0.1', ports: [{ port: 80 }] })

test('an endpoint that leaves its slice is gone since the change that the slice tells', async () => {
  const { catalog, clock, removals } = setUp('10.0.0.1', '10.0.0.2')
  await clock.advance(5000)
  catalog.upsert({ ...endpoints('10.0.0.2'), triggerTimeMs: clock.now() - 1500 })
  expect(removals()).toEqual([['10.0.0.1:8080', 1500, 'change']])
  expect(removals()).toEqual([])
})

test('a time that the slice had before belongs to another change; then it is the arrival that counts', async () => {
  const { catalog, clock, removals } = setUp('10.0.0.1', '10.0.0.2')
  await clock.advance(5000)
  const triggerTimeMs = clock.now() - 1500
  catalog.upsert({ ...endpoints('10.0.0.1', '10.0.0.2'), triggerTimeMs })
  removals()
  await clock.advance(5000)
  catalog.upsert({ ...endpoints('10.0.0.1'), triggerTimeMs })
  await clock.advance(700)
  expect(removals()).toEqual([['10.0.0.2:8080', 700, 'arrival']])
})

test('each endpoint counts from its own removal, until the sync takes them', async () => {
  const { catalog, clock, removals } = setUp('10.0.0.1', '10.0.0.2', '10.0.0.3')
  catalog.upsert(endpoints('10.0.0.2', '10.0.0.3'))
  await clock.advance(1000)
  catalog.upsert(endpoints('10.0.0.3'))
  await clock.advance(500)
  expect(removals()).toEqual([
    ['10.0.0.1:8080', 1500, 'arrival'],
    ['10.0.0.2:8080', 500, 'arrival'],
  ])
})

test('a terminating endpoint leaves, unless it is all that there is', async () => {
  const { catalog, clock, removals } = setUp('10.0.0.1', '10.0.0.2')
  catalog.upsert(endpoints('10.0.0.1', { ip: '10.0.0.2', ready: false, serving: true, terminating: true }))
  await clock.advance(100)
  expect(removals()).toEqual([['10.0.0.2:8080', 100, 'arrival']])
  catalog.upsert(
    endpoints(
      { ip: '10.0.0.1', ready: false, serving: true, terminating: true },
      { ip: '10.0.0.2', ready: false, serving: false, terminating: true },
    ),
  )
  expect(removals()).toEqual([])
})

test('an endpoint that comes back in time was not removed', () => {
  const { catalog, removals } = setUp('10.0.0.1', '10.0.0.2')
  catalog.upsert(endpoints('10.0.0.2'))
  catalog.upsert(endpoints('10.0.0.1', '10.0.0.2'))
  expect(removals()).toEqual([])
})

test('with the Service go all of its endpoints', async () => {
  const { catalog, clock, removals } = setUp('10.0.0.1')
  catalog.remove('Service', 'demo/web' as Parameters<Catalog['remove']>[1])
  await clock.advance(300)
  expect(removals()).toEqual([['10.0.0.1:8080', 300, 'arrival']])
})

type Given = string | { ip: string; ready: boolean; serving: boolean; terminating: boolean }

function endpoints(...given: readonly Given[]): SliceRecord {
  const raw = given.map((one) => {
    if (typeof one === 'string') return one
    const { ip, ...conditions } = one
    return { addresses: [ip], conditions }
  })
  return slice('demo/web-1', 'web', raw)
}

function setUp(...ips: readonly string[]) {
  const catalog = new Catalog()
  const clock = new FakeClock()
  const table = new RouteTable({
    catalog,
    family: 'ipv4',
    nodeName: 'here',
    nodeIP: '10.200.0.2',
    policy: usualPolicy,
    notices: silentNotices,
    metrics: silentMetrics,
    startedAtMs: clock.now(),
    clock,
  })
  catalog.replace('Service', [web])
  catalog.replace('EndpointSlice', [endpoints(...ips)])
  expect(table.take({ full: true }).removals).toEqual([])
  const removals = () =>
    table
      .take({ full: false })
      .removals.map(({ address, sinceMs, measuredFrom }) => [address, clock.now() - sinceMs, measuredFrom])
  return { catalog, clock, removals }
}
