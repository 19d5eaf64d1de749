import { expect, test } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import type { RouteKey } from '../../core/route.ts'
import { RecordingLogger } from '../../core/testing/recording-logger.ts'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { testEndpoint, testRoute, testView } from '../../core/testing/routes.ts'
import type { RouteTraffic } from '../../core/traffic.ts'
import { TrafficBook } from './traffic-book.ts'

const never = new AbortController().signal
const pod = testEndpoint('10.64.0.1', 80)
const web = testRoute('shop/web', { endpoints: [pod] })

function given({ everyMs = 0, known = {} }: { readonly everyMs?: number; readonly known?: RouteTraffic } = {}) {
  const clock = new FakeClock()
  const counted = { connections: 0, readings: 0 }
  let arrive: () => void = () => {}
  const gate: { wait: Promise<void> } = { wait: Promise.resolve() }
  const book = new TrafficBook({
    clock,
    signal: never,
    log: silentLogger,
    sources: [
      {
        view: () => testView(web),
        trafficEveryMs: everyMs,
        async traffic(): Promise<ReadonlyMap<RouteKey, RouteTraffic>> {
          counted.readings++
          await gate.wait
          const { connections } = counted
          return new Map([[web.key, { connections, endpoints: new Map([[pod.address, { connections }]]), ...known }]])
        },
      },
    ],
  })
  const hold = () => {
    gate.wait = new Promise((resolve) => (arrive = resolve))
  }
  const read = async () => (await book.read())[0]?.traffic.get(web.key)
  return { book, clock, counted, hold, arrive: () => arrive(), read }
}

test('whoever asks while it is read waits for that reading, and gets it', async () => {
  const { counted, hold, arrive, read } = given()
  hold()
  const both = [read(), read()]
  arrive()
  const [first, second] = await Promise.all(both)
  expect(first).toBe(second)
  expect(counted.readings).toBe(1)
})

test('a reading is good for a second, and where it is costly for longer', async () => {
  for (const { everyMs, ms, readings } of [
    { everyMs: 0, ms: 999, readings: 1 },
    { everyMs: 0, ms: 1_000, readings: 2 },
    { everyMs: 10_000, ms: 9_999, readings: 1 },
    { everyMs: 10_000, ms: 10_000, readings: 2 },
  ]) {
    const { clock, counted, read } = given({ everyMs })
    await read()
    await clock.advance(ms)
    await read()
    expect(counted.readings).toBe(readings)
  }
})

test('the last use is when a counter was seen to have grown', async () => {
  const { clock, counted, read } = given()
  counted.connections = 5
  expect(await read()).not.toHaveProperty('lastUsedMs')
  await clock.advance(2_000)
  counted.connections = 6
  const seenAt = clock.now()
  expect(await read()).toMatchObject({
    lastUsedMs: seenAt,
    endpoints: new Map([[pod.address, { lastUsedMs: seenAt }]]),
  })
  await clock.advance(2_000)
  expect(await read()).toMatchObject({ lastUsedMs: seenAt })
})

test('a mode that knows the last use is believed', async () => {
  const { clock, counted, read } = given({ known: { lastUsedMs: 7 } })
  await read()
  counted.connections = 1
  await clock.advance(2_000)
  expect(await read()).toMatchObject({ lastUsedMs: 7 })
})

test('a reading that fails is told once, and tried again after a second', async () => {
  const clock = new FakeClock()
  const log = new RecordingLogger()
  let fails = true
  let readings = 0
  const book = new TrafficBook({
    clock,
    signal: never,
    log,
    sources: [
      {
        view: () => testView(web),
        traffic: () => {
          readings++
          return fails ? Promise.reject(new Error('not now')) : Promise.resolve(new Map())
        },
      },
    ],
  })
  for (let series = 0; series < 14; series++) {
    await expect(book.read()).rejects.toThrow('not now')
    await clock.advance(50)
  }
  expect(readings).toBe(1)
  expect(log.at('warn')).toHaveLength(1)
  fails = false
  await clock.advance(1_000)
  expect(await book.read()).toHaveLength(1)
})

test('what takes long to read is read less often', async () => {
  const clock = new FakeClock()
  let readings = 0
  const traffic = async () => {
    readings++
    await clock.advance(2_000)
    return new Map<RouteKey, RouteTraffic>()
  }
  const book = new TrafficBook({
    clock,
    signal: never,
    log: silentLogger,
    sources: [{ view: () => testView(web), traffic }],
  })
  await book.read()
  await clock.advance(19_999)
  await book.read()
  expect(readings).toBe(1)
  await clock.advance(1)
  await book.read()
  expect(readings).toBe(2)
})

test('a Service was last used when its endpoints were, where the mode knows that', async () => {
  const endpoints = new Map([
    ['10.64.0.1:80', { connections: 1, lastUsedMs: 7 }],
    ['10.64.0.2:80', { connections: 1, lastUsedMs: 9 }],
    ['10.64.0.3:80', { connections: 0 }],
  ])
  expect(await given({ known: { endpoints } }).read()).toMatchObject({ lastUsedMs: 9 })
})

test('a reading that takes too long is given up, and not tried again at once', async () => {
  const clock = new FakeClock()
  let readings = 0
  const traffic = (signal: AbortSignal) => {
    readings++
    return new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('interrupted')))
    })
  }
  const book = new TrafficBook({
    clock,
    signal: never,
    log: silentLogger,
    sources: [{ view: () => testView(web), traffic }],
  })
  const tooLong = /took longer than 60 s/
  const first = book.read()
  first.catch(() => {})
  await clock.advance(60_000)
  await expect(first).rejects.toThrow(tooLong)
  await clock.advance(599_999)
  await expect(book.read()).rejects.toThrow(tooLong)
  expect(readings).toBe(1)
  await clock.advance(1)
  book.read().catch(() => {})
  expect(readings).toBe(2)
})

test('whoever cannot wait gets the reading before after two seconds, and the new one goes on', async () => {
  const { book, clock, counted, hold, arrive, read } = given()
  counted.connections = 5
  await read()
  await clock.advance(5_000)
  counted.connections = 6
  hold()
  const soon = book.readSoon()
  await clock.advance(2_000)
  const { carried, uncounted } = await soon
  expect(carried.map(({ traffic }) => traffic.get(web.key)?.connections)).toEqual([5])
  expect(uncounted).toEqual([])
  arrive()
  expect(await read()).toMatchObject({ connections: 6 })
  expect(counted.readings).toBe(2)
  expect(clock.sleeping).toBe(0)
})

test('whoever cannot wait for the first reading is told so, and of one that fails why', async () => {
  const { book, clock, hold } = given()
  hold()
  const soon = book.readSoon()
  await clock.advance(2_000)
  expect(await soon).toMatchObject({
    carried: [],
    uncounted: [{ family: 'ipv4', why: expect.stringContaining('still being read') as string }],
  })
  const traffic = () => Promise.reject(new Error('not now'))
  const failing = new TrafficBook({
    clock,
    signal: never,
    log: silentLogger,
    sources: [{ view: () => testView(web), traffic }],
  })
  expect(await failing.readSoon()).toEqual({ carried: [], uncounted: [{ family: 'ipv4', why: 'not now' }] })
})
