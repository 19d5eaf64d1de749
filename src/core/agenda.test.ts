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
