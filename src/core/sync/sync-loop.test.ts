import { afterEach, expect, test } from 'vitest'
import { SyncLoop } from './sync-loop.ts'
import type { WorkOutcome } from './sync-loop.ts'
import { FakeClock } from '../testing/fake-clock.ts'

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

interface Given {
  readonly minMs?: number
  readonly retryMs?: number
  readonly maxMs?: number
  /** Outcomes of the first runs; the rest succeed. */
  readonly outcomes?: readonly WorkOutcome[]
  readonly workMs?: number
}

/** A running loop that writes down when each run began. */
function given({ minMs = 1000, retryMs = 5000, maxMs = 60_000, outcomes = [], workMs = 0 }: Given = {}) {
  const clock = new FakeClock()
  const startedAt: number[] = []
  const periods = { minMs, retryMs, maxMs }
  const loop = new SyncLoop({
    periods: () => periods,
    clock,
    async work(signal) {
      startedAt.push(clock.monotonic())
      if (workMs > 0) await clock.sleep(workMs, signal).catch(() => undefined)
      return outcomes[startedAt.length - 1] ?? 'succeeded'
    },
  })
  const start = () => {
    const abort = new AbortController()
    const running = loop.run(abort.signal)
    const stop = async () => {
      abort.abort()
      await running
    }
    stops.push(stop)
    return stop
  }
  return { clock, loop, periods, startedAt, start }
}

test('the first request runs at once', async () => {
  const { clock, loop, startedAt, start } = given()
  start()
  await clock.advance(3)
  loop.request()
  await clock.advance(0)
  expect(startedAt).toEqual([3])
})

test('a request made before the loop starts runs once it starts', async () => {
  const { clock, loop, startedAt, start } = given()
  loop.request()
  loop.request()
  await clock.advance(10)
  expect(startedAt).toEqual([])
  start()
  await clock.advance(5000)
  expect(startedAt).toEqual([10])
})

test('several requests within the cool-down cause exactly one more run, when the cool-down ends', async () => {
  const { clock, loop, startedAt, start } = given({ minMs: 1000 })
  start()
  loop.request()
  await clock.advance(200)
  loop.request()
  await clock.advance(300)
  loop.request()
  await clock.advance(499)
  expect(startedAt).toEqual([0])
  await clock.advance(1)
  expect(startedAt).toEqual([0, 1000])
  await clock.advance(30_000)
  expect(startedAt).toEqual([0, 1000])
})

test('the cool-down counts from the end of a run, and a request during a run causes one more', async () => {
  const { clock, loop, startedAt, start } = given({ minMs: 1000, workMs: 400 })
  start()
  loop.request()
  await clock.advance(100)
  loop.request()
  loop.request()
  await clock.advance(1299)
  expect(startedAt).toEqual([0])
  await clock.advance(1)
  expect(startedAt).toEqual([0, 1400])
  await clock.advance(10_000)
  expect(startedAt).toEqual([0, 1400])
})

test('a request after the cool-down runs at once', async () => {
  const { clock, loop, startedAt, start } = given({ minMs: 1000 })
  start()
  loop.request()
  await clock.advance(1500)
  loop.request()
  await clock.advance(0)
  expect(startedAt).toEqual([0, 1500])
})

test('without requests a run happens when the longest period after the last completion is over, not before', async () => {
  const { clock, startedAt, start } = given({ maxMs: 60_000, workMs: 10 })
  start()
  await clock.advance(59_999)
  expect(startedAt).toEqual([])
  await clock.advance(1)
  expect(startedAt).toEqual([60_000])
  await clock.advance(60_009)
  expect(startedAt).toEqual([60_000])
  await clock.advance(1)
  expect(startedAt).toEqual([60_000, 120_010])
})

test('a failed run is tried again after the retry period, each time', async () => {
  const { clock, loop, startedAt, start } = given({ retryMs: 5000, outcomes: ['failed', 'failed', 'failed'] })
  start()
  loop.request()
  await clock.advance(15_000)
  expect(startedAt).toEqual([0, 5000, 10_000, 15_000])
  await clock.advance(5000)
  expect(startedAt).toHaveLength(4)
})

test('a run that asks for another one gets it then', async () => {
  const { clock, loop, startedAt, start } = given({ retryMs: 5000, outcomes: [{ againAfterMs: 20_000 }] })
  start()
  loop.request()
  await clock.advance(19_999)
  expect(startedAt).toEqual([0])
  await clock.advance(1)
  expect(startedAt).toEqual([0, 20_000])
})

test('a run that succeeds before the retry is due cancels the retry', async () => {
  const { clock, loop, startedAt, start } = given({ retryMs: 5000, outcomes: ['failed'] })
  start()
  loop.request()
  await clock.advance(2000)
  loop.request()
  await clock.advance(20_000)
  expect(startedAt).toEqual([0, 2000])
})

test('a retry period shorter than the cool-down waits for the cool-down', async () => {
  const { clock, loop, startedAt, start } = given({ minMs: 1000, retryMs: 100, outcomes: ['failed'] })
  start()
  loop.request()
  await clock.advance(999)
  expect(startedAt).toEqual([0])
  await clock.advance(1)
  expect(startedAt).toEqual([0, 1000])
})

test('a retry period longer than the longest period is cut to it', async () => {
  const { clock, loop, startedAt, start } = given({ retryMs: 90_000, maxMs: 60_000, outcomes: ['failed'] })
  start()
  loop.request()
  await clock.advance(60_000)
  expect(startedAt).toEqual([0, 60_000])
})

test('a longest period below the shortest is refused', () => {
  expect(() => given({ minMs: 1000, maxMs: 999 })).toThrow('lower the minimum')
  expect(() => given({ minMs: 1000, maxMs: 1000 })).not.toThrow()
})

test('an urgent request cuts the cool-down to 100 ms after the last completion', async () => {
  const { clock, loop, startedAt, start } = given({ minMs: 1000, workMs: 50 })
  start()
  loop.request()
  await clock.advance(60)
  loop.request()
  await clock.advance(10)
  loop.request('urgent')
  await clock.advance(79)
  expect(startedAt).toEqual([0])
  await clock.advance(1)
  expect(startedAt).toEqual([0, 150])
})

test('an urgent request never waits longer than an ordinary one', async () => {
  const { clock, loop, startedAt, start } = given({ minMs: 20 })
  start()
  loop.request()
  await clock.advance(5)
  loop.request('urgent')
  await clock.advance(15)
  expect(startedAt).toEqual([0, 20])
})

test('an ordinary request after an urgent one does not slow it down', async () => {
  const { clock, loop, startedAt, start } = given({ minMs: 1000 })
  start()
  loop.request()
  await clock.advance(0)
  loop.request('urgent')
  loop.request()
  await clock.advance(100)
  expect(startedAt).toEqual([0, 100])
})

test('urgency is spent with the run it caused', async () => {
  const { clock, loop, startedAt, start } = given({ minMs: 1000 })
  start()
  loop.request('urgent')
  await clock.advance(0)
  loop.request()
  await clock.advance(999)
  expect(startedAt).toEqual([0])
  await clock.advance(1)
  expect(startedAt).toEqual([0, 1000])
})

test('an immediate request knows no cool-down, but waits for the run that is under way', async () => {
  const { clock, loop, startedAt, start } = given({ minMs: 1000, workMs: 50 })
  start()
  loop.request()
  await clock.advance(10)
  loop.request('immediate')
  await clock.advance(39)
  expect(startedAt).toEqual([0])
  await clock.advance(1)
  expect(startedAt).toEqual([0, 50])
})

test('a request waits until its run begins', async () => {
  const { clock, loop, start } = given({ minMs: 1000 })
  loop.request()
  expect(loop.isRequested).toBe(true)
  start()
  await clock.advance(0)
  expect(loop.isRequested).toBe(false)
})

test('stopping ends every wait and leaves no timer behind', async () => {
  const { clock, loop, startedAt, start } = given()
  const stop = start()
  loop.request()
  await clock.advance(0)
  loop.request()
  await clock.advance(0)
  await stop()
  expect(clock.sleeping).toBe(0)
  await clock.advance(100_000)
  expect(startedAt).toEqual([0])
})

test('stopping during a run waits for the run', async () => {
  const clock = new FakeClock()
  const abort = new AbortController()
  const events: string[] = []
  const loop = new SyncLoop({
    periods: () => ({ minMs: 0, retryMs: 10, maxMs: 100 }),
    clock,
    async work() {
      await clock.sleep(50, new AbortController().signal)
      events.push('work ended')
      return 'succeeded'
    },
  })
  loop.request()
  const running = loop.run(abort.signal).then(() => events.push('loop ended'))
  await clock.advance(10)
  abort.abort()
  await clock.advance(10)
  expect(events).toEqual([])
  await clock.advance(30)
  await running
  expect(events).toEqual(['work ended', 'loop ended'])
})

test('a clock that fails ends the loop, with its reason', async () => {
  const broken = Object.assign(new FakeClock(), { sleep: () => Promise.reject(new Error('no timers left')) })
  const loop = new SyncLoop({
    periods: () => ({ minMs: 0, retryMs: 10, maxMs: 100 }),
    clock: broken,
    work: async () => 'succeeded',
  })
  await expect(loop.run(new AbortController().signal)).rejects.toThrow('no timers left')
})

test('a loop that has ended no longer listens to its signal', async () => {
  const { signal } = new AbortController()
  const listeners = new Set<unknown>()
  const watched = Object.assign(signal, {
    addEventListener: (_: string, listener: unknown) => listeners.add(listener),
    removeEventListener: (_: string, listener: unknown) => listeners.delete(listener),
  }) as AbortSignal
  const work = () => Promise.reject(new Error('a bug'))
  const loop = new SyncLoop({ periods: () => ({ minMs: 0, retryMs: 10, maxMs: 100 }), clock: new FakeClock(), work })
  loop.request()
  await expect(loop.run(watched)).rejects.toThrow('a bug')
  expect(listeners.size).toBe(0)
})

test('a loop that is stopped before it starts does nothing', async () => {
  const { loop, startedAt } = given()
  loop.request()
  await loop.run(AbortSignal.abort())
  expect(startedAt).toEqual([])
})

test('a period too long for a timer is waited for in parts', async () => {
  const day = 24 * 60 * 60 * 1000
  const { clock, startedAt, start } = given({ maxMs: 100 * day })
  start()
  await clock.advance(100 * day - 1)
  expect(startedAt).toEqual([])
  await clock.advance(1)
  expect(startedAt).toEqual([100 * day])
})

test('a shorter minimum counts for the request that waits', async () => {
  const { clock, loop, periods, startedAt, start } = given({ minMs: 30_000 })
  loop.request()
  start()
  await clock.advance(0)
  loop.request()
  await clock.advance(10_000)
  periods.minMs = 12_000
  loop.periodsChanged()
  await clock.advance(2_000)
  expect(startedAt).toEqual([0, 12_000])
})

test('a shorter sync period counts for the retry that waits', async () => {
  const { clock, loop, periods, startedAt, start } = given({ outcomes: ['failed'], retryMs: 30_000 })
  loop.request()
  start()
  await clock.advance(1_000)
  periods.retryMs = 3_000
  loop.periodsChanged()
  await clock.advance(2_000)
  expect(startedAt).toEqual([0, 3_000])
})
