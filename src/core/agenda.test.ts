import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Agenda } from './agenda.ts'
import { FakeClock } from './testing/fake-clock.ts'

async function running(onDue?: (thing: string, agenda: Agenda<string>) => void) {
  const clock = new FakeClock()
  const agenda = new Agenda<string>(clock)
  const told: string[] = []
  const stop = new AbortController()
  const run = agenda.run((thing) => {
    told.push(`${thing} at ${clock.monotonic()}`)
    onDue?.(thing, agenda)
  }, stop.signal)
  await clock.advance(0)
  const end = async () => {
    stop.abort()
    await run
    return clock.sleeping
  }
  return { clock, agenda, told, end }
}

test('each thing is told at its time, once', async () => {
  const { clock, agenda, told, end } = await running()
  agenda.set('late', 500)
  agenda.set('early', 100)
  await clock.advance(1_000)
  expect(told).toEqual(['early at 100', 'late at 500'])
  expect(agenda.size).toBe(0)
  expect(await end()).toBe(0)
})

test('a thing may get another time, or none', async () => {
  const { clock, agenda, told, end } = await running()
  agenda.set('moved', 100)
  agenda.set('moved', 300)
  agenda.set('gone', 100)
  agenda.delete('gone')
  await clock.advance(1_000)
  expect(told).toEqual(['moved at 300'])
  await end()
})

test('what is told may end it', async () => {
  const clock = new FakeClock()
  const agenda = new Agenda<string>(clock)
  const stop = new AbortController()
  const run = agenda.run(() => stop.abort(), stop.signal)
  agenda.set('last', 100)
  agenda.set('never', 5_000)
  await clock.advance(100)
  await run
  expect(clock.sleeping).toBe(0)
})

test('it may be set again while it is told', async () => {
  const { clock, told, agenda, end } = await running((thing, it) => it.set(thing, 200))
  agenda.set('again', 100)
  await clock.advance(600)
  expect(told).toEqual(['again at 100', 'again at 300', 'again at 500'])
  await end()
})

test('what is set before it runs is not lost', async () => {
  const clock = new FakeClock()
  const agenda = new Agenda<string>(clock)
  agenda.set('first', 50)
  const told: string[] = []
  const stop = new AbortController()
  const run = agenda.run((thing) => told.push(thing), stop.signal)
  await clock.advance(60)
  expect(told).toEqual(['first'])
  stop.abort()
  await run
})

test('a round costs what is due, however much waits', async () => {
  const { clock, agenda, end } = await running((thing, it) => it.set(thing, thing === 'often' ? 20 : 1e9))
  for (let index = 0; index < 50_000; index++) agenda.set(`seldom ${index}`, 1e9 + index)
  agenda.set('often', 20)
  const start = performance.now()
  await clock.advance(20_000)
  expect(performance.now() - start).toBeLessThan(1_000)
  await end()
})

test('a time that is moved again and again leaves nothing behind', async () => {
  const { clock, agenda, told, end } = await running()
  agenda.set('other', 5_000)
  for (let index = 0; index < 10_000; index++) agenda.set('moved', 100_000 - index)
  expect(agenda.size).toBe(2)
  agenda.delete('other')
  await clock.advance(100_000)
  expect(told).toEqual(['moved at 90001'])
  expect(agenda.size).toBe(0)
  await end()
})

test('whatever is set, moved and deleted, each is told at the time that it had last', async () => {
  const step = fc.record({
    thing: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    inMs: fc.oneof(
      fc.constant(undefined),
      fc.integer({ min: 1, max: 50 }).map((it) => it * 20),
    ),
    passMs: fc.constantFrom(0, 0, 20, 100),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { clock, agenda, told, end } = await running()
      const expected: string[] = []
      const dueAt = new Map<string, number>()
      const pass = async (ms: number) => {
        await clock.advance(ms)
        for (const [thing, at] of dueAt)
          if (at <= clock.monotonic()) {
            expected.push(thing)
            dueAt.delete(thing)
          }
      }
      for (const { thing, inMs, passMs } of steps) {
        if (inMs === undefined) agenda.delete(thing)
        else agenda.set(thing, inMs)
        if (inMs === undefined) dueAt.delete(thing)
        else dueAt.set(thing, clock.monotonic() + inMs)
        await pass(passMs)
        expect([...dueAt.keys()].every((it) => agenda.has(it))).toBe(true)
      }
      await pass(2_000)
      expect(told.map((it) => it.split(' ')[0] ?? '').sort()).toEqual(expected.sort())
      expect(await end()).toBe(0)
    }),
    { numRuns: 200 },
  )
})
