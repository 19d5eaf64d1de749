import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { Watchdog } from './watchdog.ts'

function watchdog(clock: FakeClock, limitMs: number, parent = new AbortController().signal): Watchdog {
  return new Watchdog({ clock, limitMs, message: 'GET /x: silence', parent })
}

test('a watchdog that is fed in time stays calm, however long it takes', async () => {
  const clock = new FakeClock()
  using dog = watchdog(clock, 30_000)
  for (let i = 0; i < 100; i++) {
    await clock.advance(29_999)
    dog.feed()
  }
  expect(dog.signal.aborted).toBe(false)
  await clock.advance(30_000)
  expect(dog.signal.reason).toMatchObject({ reason: 'timeout', message: 'GET /x: silence for 30 s' })
})

test('its limit can become shorter or longer on the way', async () => {
  const clock = new FakeClock()
  using shorter = watchdog(clock, 30_000)
  shorter.setLimit(1_000)
  using longer = watchdog(clock, 30_000)
  longer.setLimit(Infinity)
  await clock.advance(1_000)
  expect(shorter.signal.aborted).toBe(true)
  await clock.advance(3_600_000)
  expect(longer.signal.aborted).toBe(false)
})

test('it passes the abort of its parent on', () => {
  const parent = new AbortController()
  using before = watchdog(new FakeClock(), 1, parent.signal)
  parent.abort(new Error('stop'))
  using after = watchdog(new FakeClock(), 1, parent.signal)
  expect(before.signal.reason).toMatchObject({ message: 'stop' })
  expect(after.signal.reason).toMatchObject({ message: 'stop' })
})

test('disposed, it has no timer and aborts nothing', async () => {
  const clock = new FakeClock()
  const dog = watchdog(clock, 1_000)
  dog[Symbol.dispose]()
  await clock.advance(5_000)
  expect(dog.signal.aborted).toBe(false)
  expect(clock.sleeping).toBe(0)
})
