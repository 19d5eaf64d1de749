import { expect, test } from 'vitest'
import { silentLogger } from '../../../core/logger.ts'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { testRoute, testView } from '../../../core/testing/routes.ts'
import type { CarriedView } from '../../traffic/traffic-book.ts'
import { PacedTraffic } from './paced-traffic.ts'

function given(readingMs: number) {
  const clock = new FakeClock()
  let last: readonly CarriedView[] = []
  const book = {
    readings: 0,
    async read() {
      book.readings++
      await clock.sleep(readingMs, new AbortController().signal)
      last = [{ view: testView(testRoute('shop/web')), traffic: new Map(), atMs: clock.now(), before: undefined }]
      return last
    },
    readSoon: () => Promise.resolve({ carried: last, uncounted: [] }),
  }
  return { clock, book, traffic: new PacedTraffic({ book, clock, log: silentLogger }) }
}

test('reading takes at most one part in fifty of the time, once there are two from which rates can be made', async () => {
  const { clock, book, traffic } = given(100)
  traffic.subscribe(() => {})
  await clock.advance(100 + 1_000)
  expect(book.readings).toBe(2)
  await clock.advance(100 + 4_999)
  expect(book.readings).toBe(2)
  await clock.advance(1)
  expect(book.readings).toBe(3)
})

test('what costs nothing is read every second, and told to all who look, also to who comes later', async () => {
  const { clock, book, traffic } = given(0)
  const told = { first: 0, second: 0 }
  traffic.subscribe(() => void told.first++)
  await clock.advance(1_500)
  traffic.subscribe(() => void told.second++)
  await clock.advance(0)
  expect(told).toEqual({ first: 2, second: 1 })
  await clock.advance(1_000)
  expect(told).toEqual({ first: 3, second: 2 })
  expect(book.readings).toBe(3)
})

test('nobody looks: nothing is read', async () => {
  const { clock, book, traffic } = given(0)
  await clock.advance(5_000)
  expect(book.readings).toBe(0)
  traffic.subscribe(() => {})()
  await clock.advance(5_000)
  expect(book.readings).toBe(1)
  expect(clock.sleeping).toBe(0)
})
