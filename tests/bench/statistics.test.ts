import { expect, test } from 'vitest'
import { renderSpread, spreadOf } from './statistics.ts'

test('a spread does not depend on the order of the values', () => {
  expect(spreadOf([9, 1, 5, 10, 2])).toEqual({ min: 1, median: 5, p99: 9.96, max: 10, count: 5 })
})

test('the median of an even number of values lies between the middle two', () => {
  expect(spreadOf([1, 2, 10, 20]).median).toBe(6)
})

test('values are compared as numbers, not as text', () => {
  expect(spreadOf([100, 20, 3]).median).toBe(20)
})

test('a spread shows the median first, then the range', () => {
  expect(renderSpread(spreadOf([1, 2, 4]), 1)).toBe('2.0 (1.0 – 4.0)')
})

test('a benchmark without a measurement fails instead of printing NaN', () => {
  expect(() => spreadOf([])).toThrow('measured nothing')
})
