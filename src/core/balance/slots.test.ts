import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { NonEmpty } from '../route.ts'
import { slotsOf, tableSlotCount, tableSlotsOf, wholeShares } from './slots.ts'

function named(...weights: readonly [number, ...number[]]): NonEmpty<{ name: string; weight: number }> {
  const [first, ...others] = weights.map((weight, index) => ({ name: String.fromCharCode(97 + index), weight }))
  if (first === undefined) throw new Error('no weights')
  return [first, ...others]
}

const text = (...weights: readonly [number, ...number[]]) =>
  slotsOf(named(...weights), 1_000)
    .map(({ name }) => name)
    .join('')

test.each([
  [[5, 5, 5], 'abc'],
  [[1, 3, 6], 'cbcacbccbc'],
  [[95, 5], 'aaaaaaaaaabaaaaaaaaa'],
  [[2, 4], 'bab'],
] as const)('weights %j become the slots %s', (weights, slots) => {
  const [first, ...others]: readonly [number, ...number[]] = weights
  expect(text(first, ...others)).toBe(slots)
})

test('equal weights need no other list', () => {
  const endpoints = named(7, 7)
  expect(slotsOf(endpoints, 10)).toBe(endpoints)
})

test('shares are as exact as the slots allow, and nobody is left out', () => {
  const weights = fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 1, maxLength: 60 })
  fc.assert(
    fc.property(weights, ([first = 1, ...others]) => {
      const endpoints = named(first, ...others)
      const most = 256
      const slots = slotsOf(endpoints, most)
      expect(slots.length).toBeLessThanOrEqual(most)
      const sum = endpoints.reduce((total, { weight }) => total + weight, 0)
      for (const endpoint of endpoints) {
        const count = slots.filter((slot) => slot === endpoint).length
        expect(count).toBeGreaterThan(0)
        // Within one slot of its share, unless that would leave it without any.
        const error = Math.abs(count / slots.length - endpoint.weight / sum)
        expect(error).toBeLessThanOrEqual((endpoints.length + 1) / most)
      }
    }),
  )
})

test('whole shares use up all slots, and no more', () => {
  const sharesOf = (...weights: readonly [number, ...number[]]) => wholeShares(named(...weights), 256)
  expect(sharesOf(1, 3, 6)).toEqual([26, 77, 153])
  expect(sharesOf(1000, 1, 1, 1)).toEqual([253, 1, 1, 1])
  expect(sharesOf(1, 1000)).toEqual([1, 255])
  expect(wholeShares(named(9, 1, 1), 2)).toEqual([1, 1, 1])
  const weights = fc.array(fc.integer({ min: 1, max: 10_000 }), { minLength: 1, maxLength: 256 })
  fc.assert(
    fc.property(weights, ([first = 1, ...others]) => {
      const shares = sharesOf(first, ...others)
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(256)
      expect(Math.min(...shares)).toBeGreaterThan(0)
    }),
  )
})

test('counting the slots of a table tells how many there are', () => {
  const weights = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 90 })
  fc.assert(
    fc.property(weights, ([first = 1, ...others]) => {
      const endpoints = named(first, ...others)
      expect(tableSlotCount(endpoints)).toBe(tableSlotsOf(endpoints).length)
    }),
  )
  expect(tableSlotCount(named(7, 7, 7))).toBe(3)
})
