import { afterEach, expect, test } from 'vitest'
import type { Change, NodeView, SyncReport } from '../backend.ts'
import { ProxyHealth } from '../health/proxy-health.ts'
import type { PendingSync, RouteSource, SyncRequest } from './route-source.ts'
import type { Route, RouteKey } from '../route.ts'
import { SyncRunner } from './sync-runner.ts'
import type { AfterSync } from './sync-runner.ts'
import { TraceRecorder } from '../../observe/tracing/trace-recorder.ts'
import { misplacedIn } from '../../observe/tracing/testing/recorded-trees.ts'
import type { Span, SpanLink, SpanRecord } from '../trace.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { RecordingLogger } from '../testing/recording-logger.ts'
import { testRoute, testView } from '../testing/routes.ts'

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

test('nothing is programmed before the first complete lists, and nothing counts as late', async () => {
  const { clock, table, syncs, health, metricCalls } = given({ initialised: false })
  table.change({ keys: ['early/TCP'] })
  table.change({ keys: ['early/TCP'], urgent: true })
  await clock.advance(2 * hour)
  expect(syncs).toEqual([])
  expect(metricCalls('syncRan')).toEqual([])
  expect(health.isHealthy).toBe(true)
})

test('the first complete lists are programmed at once, as a full sync', async () => {
  const { clock, table, syncs, metricCalls } = given({ initialised: false })
  await clock.advance(500)
  table.initialise()
  await clock.advance(0)
  expect(syncs).toMatchObject([{ atMs: 500, change: { full: true, causes: [] } }])
  expect(metricCalls('syncRequested')).toEqual([['ipv4', start]])
})

test('a table that is complete from the start is programmed at once', async () => {
  const { clock, syncs } = given()
  await clock.advance(0)
  expect(syncs).toMatchObject([{ atMs: 0, change: { full: true } }])
})

test('a change is programmed alone, after the cool-down', async () => {
  const { clock, table, syncs } = given()
  await clock.advance(10)
  table.change({ keys: ['demo/web/TCP'] })
  await clock.advance(990)
  expect(syncs.slice(1)).toMatchObject([{ atMs: 1000, change: { full: false, keys: ['demo/web/TCP'] } }])
})

test('a removed endpoint does not wait for the whole cool-down', async () => {
  const { clock, table, syncs } = given()
  await clock.advance(10)
  table.change({ keys: ['demo/web/TCP'], urgent: true })
  await clock.advance(90)
  expect(syncs.slice(1)).toMatchObject([{ atMs: 100 }])
})

test('two syncs never overlap', async () => {
  const { clock, table, backend, syncs } = given()
  backend.takesMs = 5000
  await clock.advance(10)
  for (let i = 0; i < 10; i++) {
    table.change({ keys: ['demo/web/TCP'], urgent: true })
    await clock.advance(400)
  }
  expect(syncs).toHaveLength(1)
  await clock.advance(10_000)
  expect(syncs).toHaveLength(2)
  expect(backend.mostAtOnce).toBe(1)
})

test('after a failure the next sync is full, runs after the retry period, and knows what the failed one had to do', async () => {
  const { clock, table, backend, syncs, hooked, metricCalls } = given()
  await clock.advance(5000)
  backend.failures = 2
  table.change({ keys: ['demo/gone/TCP'], triggerTimesMs: [clock.now() - 2000], conntrack: true, causes: ['slice a'] })
  await clock.advance(0)
  table.change({ keys: ['demo/web/TCP'], triggerTimesMs: [clock.now()], causes: ['slice b'] })
  await clock.advance(1000)
  expect(hooked).toHaveLength(1)
  await clock.advance(30_000)
  expect(syncs.slice(1)).toMatchObject([
    { atMs: 5000, change: { full: false, keys: ['demo/gone/TCP'] } },
    { atMs: 6000, change: { full: true, causes: ['slice a', 'slice b'] } },
    { atMs: 36_000, change: { full: true, causes: ['slice a', 'slice b'] } },
  ])
  // The removed route is listed once, before the routes that exist.
  expect(syncs[3]?.change.keys).toEqual(['demo/gone/TCP', 'demo/web/TCP'])
  expect(hooked[1]).toMatchObject({ needsConntrackCleanup: true })
  expect(metricCalls('programmed')).toEqual([
    ['ipv4', 33],
    ['ipv4', 31],
  ])
})

test('when others changed the data plane, everything is programmed again at once', async () => {
  const { clock, syncs, runner } = given()
  await clock.advance(10)
  runner.requestFull('a flush')
  await clock.advance(0)
  expect(syncs.slice(1)).toMatchObject([{ atMs: 10, change: { full: true, causes: ['a flush'] } }])
})

test('before the first complete lists there is nothing that others could have changed', async () => {
  const { clock, syncs, runner, metricCalls } = given({ initialised: false })
  runner.requestFull('a flush')
  await clock.advance(2 * hour)
  expect(syncs).toEqual([])
  expect(metricCalls('syncRequested')).toEqual([['ipv4', start]])
})

test('what others change during a full sync needs another one', async () => {
  const { clock, backend, syncs, runner } = given()
  backend.takesMs = 100
  await clock.advance(50)
  runner.requestFull('a flush in the middle')
  await clock.advance(1000)
  expect(syncs.slice(1)).toMatchObject([{ change: { full: true, causes: ['a flush in the middle'] } }])
})

test('what was carried over is programmed once and then forgotten', async () => {
  const { clock, table, backend, syncs, hooked } = given()
  backend.failures = 1
  table.change({ keys: ['demo/gone/TCP'], conntrack: true })
  await clock.advance(30_000)
  table.change({ keys: ['demo/web/TCP'] })
  await clock.advance(1000)
  expect(syncs.at(-1)?.change).toMatchObject({ full: false, keys: ['demo/web/TCP'] })
  expect(hooked.at(-1)).toMatchObject({ needsConntrackCleanup: false })
})

test('a failure is one error line with its cause, and the loop goes on', async () => {
  const { clock, backend, syncs, log } = given()
  backend.failures = 1
  await clock.advance(30_000)
  expect(syncs).toHaveLength(2)
  expect(log.at('error')).toMatchObject([
    { message: 'sync failed, will be retried', fields: { family: 'ipv4', backend: 'test', retryMs: 30_000 } },
  ])
  expect(log.at('error')[0]?.fields['error']).toMatchObject({ message: 'the kernel said no' })
})

test('a table that throws does not end the loop either', async () => {
  const { clock, table, syncs, log } = given()
  table.failNextTake = true
  await clock.advance(30_000)
  expect(log.at('error')).toHaveLength(1)
  expect(syncs).toMatchObject([{ change: { full: true } }])
})

test('an hour after the last full sync the next one is full again', async () => {
  const { clock, table, syncs } = given({ maxMs: 2 * hour })
  await clock.advance(hour - 1)
  table.change({ keys: ['demo/web/TCP'] })
  await clock.advance(1001)
  table.change({ keys: ['demo/web/TCP'] })
  await clock.advance(0)
  expect(syncs.map(({ change }) => change.full)).toEqual([true, false, true])
})

test('without any change a full sync repairs once an hour', async () => {
  const { clock, syncs } = given()
  await clock.advance(2 * hour)
  expect(syncs.map(({ atMs, change }) => [atMs, change.full])).toEqual([
    [0, true],
    [hour, true],
    [2 * hour, true],
  ])
})

test('each sync is one debug line with its causes, facts and duration', async () => {
  const { clock, table, backend, log } = given()
  await clock.advance(2000)
  backend.takesMs = 12
  backend.report = { facts: { commands: 3 }, failed: [] }
  table.change({ keys: ['demo/web/TCP'], causes: ['EndpointSlice demo/web-1'] })
  await clock.advance(100)
  expect(log.at('debug2').slice(1)).toEqual([
    {
      level: 'debug2',
      message: 'synced',
      fields: {
        family: 'ipv4',
        backend: 'test',
        commands: 3,
        full: false,
        routes: 1,
        causes: ['EndpointSlice demo/web-1'],
        durationMs: 12,
      },
    },
  ])
})

test('each route that could not be programmed is a warning', async () => {
  const { clock, backend, log } = given()
  backend.report = { facts: {}, failed: [{ key: 'demo/web/TCP' as RouteKey, reason: 'port 80 is in use' }] }
  await clock.advance(0)
  expect(log.at('warn')).toMatchObject([
    {
      message: 'route not programmed',
      fields: { route: 'demo/web/TCP', clusterIP: '10.96.0.10', reason: 'port 80 is in use' },
    },
  ])
})

test('a route that could not be programmed is tried again after the retry period, even one that is gone', async () => {
  const { clock, backend, syncs, log } = given()
  backend.report = { facts: {}, failed: [{ key: 'demo/gone/TCP' as RouteKey, reason: 'the kernel said no' }] }
  await clock.advance(29_999)
  expect(syncs).toHaveLength(1)
  expect(log.at('warn')).toHaveLength(1)
  await clock.advance(1)
  expect(syncs.slice(1)).toMatchObject([{ atMs: 30_000, change: { full: false, keys: ['demo/gone/TCP'] } }])
})

test('it says why a route is not programmed: refused alone, or with a sync that failed', async () => {
  const { clock, table, backend, runner } = given()
  const web = 'demo/web/TCP' as RouteKey
  backend.report = { facts: {}, failed: [{ key: web, reason: 'port 80 is in use' }] }
  await clock.advance(0)
  expect(runner.whyNotProgrammed(web)).toBe('port 80 is in use')
  expect(runner.whyNotProgrammed('demo/other/TCP' as RouteKey)).toBeUndefined()
  backend.report = { facts: {}, failed: [] }
  await clock.advance(30_000)
  expect(runner.whyNotProgrammed(web)).toBeUndefined()
  backend.failures = 1
  table.change({ keys: [web] })
  await clock.advance(1000)
  expect(runner.whyNotProgrammed(web)).toMatch(/^the last sync failed and is retried: ./)
  expect(runner.whyNotProgrammed('demo/other/TCP' as RouteKey)).toBeUndefined()
  await clock.advance(30_000)
  expect(runner.whyNotProgrammed(web)).toBeUndefined()
})

test('it remembers how many syncs there were and failed, and what became of the last one', async () => {
  const { clock, table, backend, runner } = given()
  const web = 'demo/web/TCP' as RouteKey
  expect(runner.tally).toMatchObject({ count: 0, last: undefined, isFailing: false })
  backend.report = { facts: {}, failed: [{ key: web, reason: 'port 80 is in use' }] }
  await clock.advance(0)
  expect(runner.tally).toMatchObject({ count: 1, failures: 0, last: { atMs: clock.now(), durationMs: 0 } })
  expect([...runner.failedRoutes]).toEqual([[web, 'port 80 is in use']])
  const before = runner.failedRoutes
  backend.report = { facts: {}, failed: [] }
  backend.failures = 1
  table.change({ keys: [web] })
  await clock.advance(1000)
  const failedAtMs = clock.now()
  const lastFailure = { atMs: failedAtMs, message: expect.stringMatching(/./) as string }
  expect(runner.tally).toMatchObject({ count: 2, failures: 1, lastFailure, isFailing: true })
  await clock.advance(30_000)
  expect(runner.tally).toMatchObject({ count: 3, failures: 1, lastFailure, isFailing: false })
  expect(runner.failedRoutes).not.toBe(before)
  expect(runner.failedRoutes.size).toBe(0)
})

test('a full sync that somebody asked for puts the hourly one off', async () => {
  const { clock, table, syncs, runner } = given()
  await clock.advance(hour / 2)
  runner.requestFull('a flush')
  await clock.advance(hour / 4)
  table.change({ keys: ['demo/web/TCP'] })
  await clock.advance(0)
  expect(syncs.map(({ change }) => change.full)).toEqual([true, true, false])
})

test('a sync is measured whether it succeeds or not; only a success is stamped', async () => {
  const { clock, backend, metricCalls } = given()
  backend.failures = 1
  backend.takesMs = 250
  await clock.advance(250)
  expect(metricCalls('syncRan')).toEqual([['ipv4', { seconds: 0.25, full: true, hasFailed: true }]])
  expect(metricCalls('syncSucceeded')).toEqual([])
  await clock.advance(31_000)
  expect(metricCalls('syncRan').slice(1)).toEqual([['ipv4', { seconds: 0.25, full: true, hasFailed: false }]])
  expect(metricCalls('syncSucceeded')).toEqual([['ipv4', start + 30_500]])
  expect(metricCalls('noLocalEndpoints')).toEqual([
    ['ipv4', 'internal', 1],
    ['ipv4', 'external', 2],
  ])
})

test('requests are stamped, and the start of the loop is one', async () => {
  const { clock, table, metricCalls } = given()
  await clock.advance(10)
  table.change({ keys: ['demo/web/TCP'] })
  expect(metricCalls('syncRequested')).toEqual([
    ['ipv4', start],
    ['ipv4', start + 10],
  ])
})

test('a trigger time ahead of our clock counts as no latency', async () => {
  const { clock, table, metricCalls } = given()
  await clock.advance(1000)
  table.change({ keys: ['demo/web/TCP'], triggerTimesMs: [clock.now() + 5000] })
  await clock.advance(0)
  expect(metricCalls('programmed')).toEqual([['ipv4', 0]])
})

test('health turns bad when a requested sync keeps failing, and good when one succeeds', async () => {
  const { clock, table, backend, health } = given()
  await clock.advance(1000)
  backend.failures = 3
  table.change({ keys: ['demo/web/TCP'] })
  await clock.advance(59_999)
  expect(health.isHealthy).toBe(true)
  await clock.advance(1)
  expect(health.isHealthy).toBe(false)
  await clock.advance(30_000)
  expect(health.isHealthy).toBe(true)
})

test('a request made during a sync is still watched when that sync succeeds', async () => {
  const { clock, table, backend, health } = given()
  backend.takesMs = 100
  await clock.advance(50)
  table.change({ keys: ['demo/web/TCP'] })
  await clock.advance(50)
  backend.failures = 100
  await clock.advance(60_000)
  expect(health.isHealthy).toBe(false)
})

test('a failing hook is logged, and the other hooks and the sync stand', async () => {
  const { clock, log, hooked, metricCalls } = given({
    hooks: [{ name: 'stale flows', run: () => Promise.reject(new Error('no netlink')) }],
  })
  await clock.advance(0)
  expect(log.at('error')).toMatchObject([{ message: 'work after a sync failed', fields: { work: 'stale flows' } }])
  expect(hooked).toHaveLength(1)
  expect(metricCalls('syncSucceeded')).toHaveLength(1)
})

test('stopping during a sync interrupts it and ends without an error line', async () => {
  const { clock, backend, table, log, stop, hooked, metricCalls } = given()
  backend.takesMs = 60_000
  await clock.advance(10)
  await stop()
  expect(log.at('error')).toEqual([])
  expect(metricCalls('syncRan')).toMatchObject([['ipv4', { hasFailed: false }]])
  expect(hooked).toEqual([])
  expect(clock.sleeping).toBe(0)
  expect(table.listeners.size).toBe(0)
})

test('stopping during the work after a sync ends it without an error line', async () => {
  const interrupted: AfterSync = {
    name: 'stale flows',
    run: (_, signal) =>
      new Promise((_done, fail) => signal.addEventListener('abort', () => fail(new Error('stopped')))),
  }
  const { clock, log, stop, hooked } = given({ hooks: [interrupted] })
  await clock.advance(10)
  await stop()
  expect(log.at('error')).toEqual([])
  expect(hooked).toEqual([])
})

test('a sync is a tree of its own: why it ran, what it programmed, and what came after', async () => {
  const { clock, table, backend, trees } = given({ hooks: [{ name: 'stale flows', run: () => clock.sleep(3, never) }] })
  backend.report = { facts: { elements: 12 }, failed: [] }
  await clock.advance(10)
  table.change({ keys: ['demo/web/TCP'], causes: ['Service demo/web updated'], links: [event('a')] })
  backend.takesMs = 7
  await clock.advance(2000)
  expect(trees.map(({ attributes }) => attributes['trigger'])).toEqual(['start', 'change'])
  const [, sync] = trees
  expect(sync).toMatchObject({
    name: 'syncProxyRules',
    durationMs: 10,
    links: [event('a')],
    attributes: {
      causes: ['Service demo/web updated'],
      changes: 1,
      services: 1,
      routes: 1,
      full: false,
      'proxy.mode': 'test',
      'network.type': 'ipv4',
      elapsed_ms: 10,
      elements: 12,
    },
    children: [{ name: 'backend says' }, { name: 'stale flows', durationMs: 3 }, { name: 'recorder' }],
  })
  expect(trees.flatMap(misplacedIn)).toEqual([])
})

test('a sync that fails is an error, and the next one is caused by the same events too', async () => {
  const { clock, table, backend, trees } = given()
  const [a, b] = [event('a'), event('b')]
  await clock.advance(10)
  backend.failures = 1
  table.change({ keys: ['demo/web/TCP'], causes: ['x'], links: [a] })
  await clock.advance(1000)
  table.change({ keys: ['demo/web/TCP'], causes: ['y'], links: [b, a] })
  await clock.advance(30_000)
  expect(trees.map(({ error, attributes }) => [attributes['trigger'], error])).toEqual([
    ['start', undefined],
    ['change', 'the kernel said no'],
    ['retry', undefined],
  ])
  expect(trees[2]?.links).toEqual([a, b])
})

test('a sync for a change that was taken back meanwhile does not pass for a periodic one', async () => {
  const { clock, table, trees } = given()
  await clock.advance(10)
  table.change({ keys: [], causes: [] })
  await clock.advance(2000)
  await clock.advance(hour)
  expect(trees.map(({ attributes }) => attributes['trigger'])).toEqual(['start', 'undone', 'periodic'])
})

test('a full sync that others asked for, and one that nobody asked for, say so', async () => {
  const { clock, runner, trees } = given()
  await clock.advance(10)
  runner.requestFull('a chain is gone')
  await clock.advance(2000)
  await clock.advance(hour)
  expect(trees.map(({ attributes }) => attributes['trigger'])).toEqual(['start', 'repair', 'periodic'])
  expect(trees[1]?.attributes['causes']).toEqual(['a chain is gone'])
})

test('work after a sync that fails is an error of that work alone', async () => {
  const { clock, trees } = given({ hooks: [{ name: 'broken', run: () => Promise.reject(new Error('no')) }] })
  await clock.advance(10)
  expect(trees[0]).not.toHaveProperty('error')
  expect(trees[0]?.children.find(({ name }) => name === 'broken')).toMatchObject({ error: 'no' })
})

const never = new AbortController().signal

function event(digit: string): SpanLink {
  return { context: { traceId: digit.repeat(32), spanId: digit.repeat(16) } }
}

const hour = 60 * 60 * 1000
const start = Date.UTC(2026, 0, 1)

interface Given {
  readonly initialised?: boolean
  readonly maxMs?: number
  readonly hooks?: readonly AfterSync[]
}

/** A running runner between a table and a backend that the test plays. */
function given({ initialised = true, maxMs = hour, hooks = [] }: Given = {}) {
  const clock = new FakeClock(start)
  const table = new ScriptedTable(initialised, [testRoute('demo/web')])
  const backend = new ScriptedBackend(clock)
  const log = new RecordingLogger()
  const health = new ProxyHealth({ clock, timeoutMs: () => 60_000 })
  const metrics = new RecordingMetrics()
  const hooked: PendingSync[] = []
  const trees: SpanRecord[] = []
  const runner = new SyncRunner({
    family: 'ipv4',
    backend,
    table,
    health,
    metrics,
    tracer: new TraceRecorder({ clock, sinks: [{ finished: (root) => trees.push(root) }] }),
    clock,
    log,
    periods: () => ({ minMs: 1000, retryMs: 30_000, maxMs }),
    afterSync: [...hooks, { name: 'recorder', run: (synced) => void hooked.push(synced) }],
  })
  const abort = new AbortController()
  const running = runner.run(abort.signal)
  const stop = async () => {
    abort.abort()
    await running
  }
  stops.push(stop)
  const metricCalls = (name: string) => metrics.calls.filter(([method]) => method === name).map(([, ...rest]) => rest)
  return { clock, table, backend, syncs: backend.syncs, log, health, metricCalls, hooked, trees, stop, runner }
}

interface TestChange {
  readonly keys: readonly string[]
  readonly urgent?: boolean
  readonly triggerTimesMs?: readonly number[]
  readonly conntrack?: boolean
  readonly causes?: readonly string[]
  readonly links?: readonly SpanLink[]
}

class ScriptedTable implements RouteSource {
  readonly noLocalEndpoints = { internal: 1, external: 2 }
  readonly serviceCount = 1
  readonly listeners = new Set<(request: SyncRequest) => void>()
  readonly #view: NodeView
  #pending: TestChange[] = []
  isInitialised: boolean
  failNextTake = false

  constructor(isInitialised: boolean, routes: readonly Route[]) {
    this.isInitialised = isInitialised
    this.#view = testView(...routes)
  }

  subscribe(listener: (request: SyncRequest) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  change(change: TestChange): void {
    this.#pending.push(change)
    this.#notify({ urgent: change.urgent ?? false, initialised: false })
  }

  initialise(): void {
    this.isInitialised = true
    this.#notify({ urgent: false, initialised: true })
  }

  take({ full }: { readonly full: boolean }): PendingSync {
    if (this.failNextTake) {
      this.failNextTake = false
      throw new Error('the table is broken')
    }
    const pending = this.#pending
    this.#pending = []
    const changed = pending.flatMap(({ keys }) => keys) as RouteKey[]
    return {
      view: this.#view,
      change: {
        full,
        keys: full ? [...this.#view.routesByKey.keys()] : changed,
        causes: pending.flatMap(({ causes }) => causes ?? []),
      },
      triggerTimesMs: pending.flatMap(({ triggerTimesMs }) => triggerTimesMs ?? []),
      removals: [],
      needsConntrackCleanup: pending.some(({ conntrack }) => conntrack),
      causedBy: { links: pending.flatMap(({ links }) => links ?? []), more: 0 },
    }
  }

  #notify(request: SyncRequest): void {
    for (const listener of this.listeners) listener(request)
  }
}

class ScriptedBackend {
  readonly name = 'test'
  readonly syncs: { readonly atMs: number; readonly change: Change }[] = []
  readonly #clock: FakeClock
  takesMs = 0
  failures = 0
  report: SyncReport = { facts: {}, failed: [] }
  mostAtOnce = 0
  #running = 0

  constructor(clock: FakeClock) {
    this.#clock = clock
  }

  async sync(_view: NodeView, change: Change, signal: AbortSignal, span?: Span): Promise<SyncReport> {
    span?.child('backend says').end()
    this.syncs.push({ atMs: this.#clock.monotonic(), change })
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#running)
    try {
      if (this.takesMs > 0) await this.#clock.sleep(this.takesMs, signal)
      if (this.failures > 0) {
        this.failures--
        throw new Error('the kernel said no')
      }
      return this.report
    } finally {
      this.#running--
    }
  }
}

class RecordingMetrics {
  readonly calls: (readonly unknown[])[] = []
  syncRequested(...args: unknown[]) {
    this.calls.push(['syncRequested', ...args])
  }
  syncRan(...args: unknown[]) {
    this.calls.push(['syncRan', ...args])
  }
  syncSucceeded(...args: unknown[]) {
    this.calls.push(['syncSucceeded', ...args])
  }
  programmed(...args: unknown[]) {
    this.calls.push(['programmed', ...args])
  }
  noLocalEndpoints(...args: unknown[]) {
    this.calls.push(['noLocalEndpoints', ...args])
  }
}
