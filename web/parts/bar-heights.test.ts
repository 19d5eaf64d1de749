import { expect, test } from 'vitest'
import { heights } from './bar-heights.ts'

test('the greatest is nearly as high as there is room, and nothing vanishes', () => {
  expect(heights([{ value: 100 }, { value: 25 }, { value: 0.001 }], 24)).toEqual([20, 10, 2])
  expect(heights([{ value: 0 }, { value: 0 }], 24)).toEqual([2, 2])
  expect(heights([], 24)).toEqual([])
})

test('what failed is higher than all that did not', () => {
  expect(heights([{ value: 1, isBad: true }, { value: 100 }], 24)).toEqual([24, 20])
})
