import { expect, test } from 'vitest'
import { RateHistory } from './rate-history.ts'

test('two readings make a rate', () => {
  const history = new RateHistory(60_000)
  history.add(1_000, 100)
  expect(history.rates).toEqual([])
  history.add(3_000, 150)
  expect(history.rates).toEqual([{ atMs: 3_000, perSecond: 25 }])
})

test('readings close together are one', () => {
  const history = new RateHistory(60_000)
  history.add(1_000, 100)
  history.add(1_010, 130)
  history.add(2_000, 200)
  expect(history.rates).toEqual([{ atMs: 2_000, perSecond: 100 }])
})

test('a long silence is a gap, and not an average', () => {
  const history = new RateHistory(600_000)
  history.add(1_000, 100)
  history.add(100_000, 200)
  history.add(101_000, 210)
  expect(history.rates).toEqual([
    { atMs: 100_000, perSecond: null },
    { atMs: 101_000, perSecond: 10 },
  ])
})

test('a counter or a clock that went back begins anew', () => {
  const history = new RateHistory(60_000)
  history.add(1_000, 100)
  history.add(2_000, 110)
  history.add(3_000, 5)
  expect(history.rates).toEqual([])
  history.add(4_000, 6)
  expect(history.rates).toEqual([{ atMs: 4_000, perSecond: 1 }])
  history.add(1_000, 7)
  expect(history.rates).toEqual([])
})

test('what is old is forgotten', () => {
  const history = new RateHistory(5_000)
  for (let second = 0; second <= 20; second++) history.add(second * 1_000, second)
  expect(history.rates.map(({ atMs }) => atMs)).toEqual([15_000, 16_000, 17_000, 18_000, 19_000, 20_000])
})
