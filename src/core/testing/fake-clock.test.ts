import { expect, test } from 'vitest'
import { FakeClock } from './fake-clock.ts'

const never = new AbortController().signal

test('sleeps end in the order of their times, however they were begun', async () => {
  const clock = new FakeClock()
  const ended: string[] = []
  const sleeper = async (name: string, ms: number) => {
    await clock.sleep(ms, never)
    ended.push(`${name} at ${clock.monotonic()}`)
  }
  const all = Promise.all([sleeper('late', 30), sleeper('early', 10), sleeper('second early', 10)])
  await clock.advance(29)
  expect(ended).toEqual(['early at 10', 'second early at 10'])
  await clock.advance(1)
  expect(ended).toHaveLength(3)
  await all
})

test('a sleep begun while time passes ends within the same advance', async () => {
  const clock = new FakeClock()
  const beats: number[] = []
  const stop = new AbortController()
  const heart = (async () => {
    for (;;) {
      await clock.sleep(10, stop.signal)
      beats.push(clock.monotonic())
    }
  })()
  await clock.advance(35)
  expect(beats).toEqual([10, 20, 30])
  stop.abort(new Error('stopped'))
  await expect(heart).rejects.toThrow('stopped')
  expect(clock.sleeping).toBe(0)
})

test('the wall clock can jump without touching durations', async () => {
  const clock = new FakeClock(1000)
  clock.jumpWallClock(-500)
  await clock.advance(10)
  expect([clock.now(), clock.monotonic()]).toEqual([510, 10])
})
