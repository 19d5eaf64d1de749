import { expect, test } from 'vitest'
import type { ObjectKey } from '../../api/records.ts'
import type { Route, RouteKey } from '../route.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { testEndpoint, testRoute, testView } from '../testing/routes.ts'
import type { EndpointRemoval } from './removal-times.ts'
import { TimeToSafety } from './time-to-safety.ts'

const minuteMs = 60_000

test('a removal takes from the change until it is programmed', async () => {
  const { safety, clock, seen, removal, commit } = setUp()
  const removed = removal('demo/web', '10.0.0.1:80', 'change')
  await clock.advance(1500)
  commit([removed])
  expect(seen).toEqual([1.5])
  expect(safety.safetyOf('demo', 'web')).toEqual({
    seconds: 1.5,
    endpoint: '10.0.0.1:80',
    family: 'ipv4',
    atMs: clock.now(),
    measuredFrom: 'change',
  })
  expect(safety.safetyOf('demo', 'db')).toBeUndefined()
})

test('how long all removals of a Service took is known, by bucket', async () => {
  const { safety, clock, removal, commit } = setUp()
  for (const ms of [5, 3_600_000, 10, 1500, 1500]) {
    const removed = removal('demo/web', '10.0.0.1:80')
    await clock.advance(ms)
    commit([removed])
  }
  commit([removal('demo/db', '10.0.0.2:80')])
  expect(safety.removalsOf('demo', 'web')).toMatchObject({
    last: { seconds: 1.5 },
    count: 5,
    spread: [
      { upToSeconds: 0.01, removals: 2 },
      { upToSeconds: 2, removals: 2 },
      { upToSeconds: Infinity, removals: 1 },
    ],
  })
  expect(safety.removalsOf('demo', 'db')?.count).toBe(1)
  expect(safety.removalsOf('demo', 'none')).toBeUndefined()
})

test('a clock of the cluster that runs ahead gives no negative time', () => {
  const { clock, seen, removal, commit } = setUp()
  commit([{ ...removal('demo/web', '10.0.0.1:80'), sinceMs: clock.now() + 5000 }])
  expect(seen).toEqual([0])
})

test('a route that the data plane did not take is not safe until it does, whatever else is synced meanwhile', async () => {
  const { clock, seen, removal, commit } = setUp()
  const web = removal('demo/web', '10.0.0.1:80')
  commit([web], { failed: [web.key], keys: [web.key] })
  await clock.advance(1000)
  commit([removal('demo/db', '10.0.0.2:80')], { keys: ['demo/db/TCP'] })
  expect(seen).toEqual([0])
  await clock.advance(1000)
  commit([removal('demo/web', '10.0.0.1:80')], { failed: [web.key], keys: [web.key] })
  await clock.advance(1000)
  commit([], { keys: [web.key] })
  expect(seen).toEqual([0, 3])
  commit([], { keys: [web.key] })
  expect(seen).toEqual([0, 3])
})

test('an endpoint that has come back before the sync succeeded was never unsafe', () => {
  const { seen, removal, commit } = setUp()
  const routes = [testRoute('demo/web', { reachableEndpoints: [testEndpoint('10.0.0.1', 80)] })]
  commit([removal('demo/web', '10.0.0.1:80'), removal('demo/web', '10.0.0.2:80')], { routes })
  expect(seen).toHaveLength(1)
})

test('the longest of the last hour is what a preStop delay must be', async () => {
  const { safety, clock, removal, commit } = setUp()
  expect(safety.longestOfLastHour()).toBeUndefined()
  const take = async (seconds: number) => {
    const removed = removal('demo/web', '10.0.0.1:80')
    await clock.advance(seconds * 1000)
    commit([removed])
  }
  await take(7)
  await take(3)
  expect(safety.longestOfLastHour()?.seconds).toBe(7)
  await clock.advance(30 * minuteMs)
  await take(5)
  expect(safety.longestOfLastHour()?.seconds).toBe(7)
  await clock.advance(31 * minuteMs)
  expect(safety.longestOfLastHour()?.seconds).toBe(5)
  await clock.advance(30 * minuteMs)
  expect(safety.longestOfLastHour()).toBeUndefined()
})

test('the last value is kept for so many Services, and forgotten for the one that is longest ago', () => {
  const { safety, removal, commit } = setUp()
  const named = (index: number) => removal(`demo/s${index}`, '10.0.0.1:80')
  commit(Array.from({ length: 10_000 }, (_, index) => named(index)))
  commit([named(0), named(10_000)])
  expect(safety.safetyOf('demo', 's0')).toBeDefined()
  expect(safety.safetyOf('demo', 's1')).toBeUndefined()
  expect(safety.safetyOf('demo', 's10000')).toBeDefined()
})

function setUp() {
  const clock = new FakeClock()
  const seen: number[] = []
  const safety = new TimeToSafety({
    clock,
    metrics: { endpointRemoved: (_family, seconds) => void seen.push(seconds) },
  })
  const removal = (
    service: string,
    address: string,
    measuredFrom: EndpointRemoval['measuredFrom'] = 'arrival',
  ): EndpointRemoval => ({
    key: `${service}/TCP` as RouteKey,
    service: service as ObjectKey,
    address,
    family: 'ipv4',
    sinceMs: clock.now(),
    measuredFrom,
  })
  const commit = (
    removals: readonly EndpointRemoval[],
    { failed = [], keys = [], routes = [] }: { failed?: RouteKey[]; keys?: string[]; routes?: Route[] } = {},
  ) => {
    const change = { keys: keys as RouteKey[] }
    safety.committed({ view: testView(...routes), change, removals }, failed)
  }
  return { safety, clock, seen, removal, commit }
}
