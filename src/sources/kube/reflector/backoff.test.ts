import { expect, test } from 'vitest'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { Backoff } from './backoff.ts'

test('the wait is stretched at random by up to 100 %', () => {
  const clock = new FakeClock()
  expect(new Backoff(clock, () => 0).next()).toBe(800)
  expect(new Backoff(clock, () => 0.999).next()).toBeCloseTo(1_599.2)
})

test('the wait doubles up to 30 s, and a lower limit holds for one wait only', () => {
  const backoff = new Backoff(new FakeClock(), () => 0)
  const waits = Array.from({ length: 7 }, () => backoff.next())
  expect(waits).toEqual([800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000])
  expect(backoff.next(5_000)).toBe(5_000)
  expect(backoff.next()).toBe(30_000)
})

test('two quiet minutes after a wait make the next one short again, the wait itself does not count', async () => {
  const clock = new FakeClock()
  const backoff = new Backoff(clock, () => 0)
  for (let i = 0; i < 7; i++) backoff.next()
  await clock.advance(30_000 + 120_000)
  expect(backoff.next()).toBe(30_000)
  await clock.advance(30_000 + 120_001)
  expect(backoff.next()).toBe(800)
})

test('whoever serves one node alone may want a shorter longest wait', () => {
  const backoff = new Backoff(new FakeClock(), () => 0, 2_000)
  expect(Array.from({ length: 4 }, () => backoff.next())).toEqual([800, 1_600, 2_000, 2_000])
})
