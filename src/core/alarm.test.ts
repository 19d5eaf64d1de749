import { expect, test, vi } from 'vitest'
import { FakeClock } from './testing/fake-clock.ts'
import { Alarm } from './alarm.ts'

/** Waits, and says when it was woken. */
function sleeper() {
  const clock = new FakeClock()
  const sleeps = vi.spyOn(clock, 'sleep')
  const alarm = new Alarm(clock)
  const wokenAt: number[] = []
  const wait = (atMs: number) => void alarm.wait(atMs).then(() => wokenAt.push(clock.monotonic()))
  return { clock, alarm, wait, wokenAt, sleeps }
}

test('it goes off at its time', async () => {
  const { clock, wait, wokenAt } = sleeper()
  wait(1000)
  await clock.advance(999)
  expect(wokenAt).toEqual([])
  await clock.advance(1)
  expect(wokenAt).toEqual([1000])
})

test('or when somebody rings, once', async () => {
  const { clock, alarm, wait, wokenAt } = sleeper()
  alarm.ring()
  wait(1000)
  await clock.advance(10)
  alarm.ring()
  alarm.ring()
  await clock.advance(5000)
  expect(wokenAt).toEqual([10])
})

test('an earlier time replaces a later one', async () => {
  const { clock, alarm, wait, wokenAt } = sleeper()
  wait(1000)
  alarm.ring()
  wait(500)
  await clock.advance(500)
  expect(wokenAt).toEqual([0, 500])
  expect(clock.sleeping).toBe(0)
})

test('whoever is rung again and again, long before the time, sets one timer; it may wake him early', async () => {
  const { clock, alarm, wait, wokenAt, sleeps } = sleeper()
  for (let turn = 0; turn < 100; turn++) {
    wait(1000 + turn)
    alarm.ring()
  }
  wait(2000)
  expect(sleeps).toHaveBeenCalledTimes(1)
  await clock.advance(1500)
  expect(wokenAt).toHaveLength(101)
  expect(wokenAt.at(-1)).toBe(1000)
})

test('once disposed, it leaves no timer behind', async () => {
  const { clock, alarm, wait } = sleeper()
  wait(1000)
  alarm[Symbol.dispose]()
  await clock.advance(0)
  expect(clock.sleeping).toBe(0)
})
