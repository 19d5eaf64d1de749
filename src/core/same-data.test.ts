import { expect, test } from 'vitest'
import { isSameData } from './same-data.ts'

test.each([
  ['equal values', 1, 1],
  ['equal objects, whatever the order of their fields', { a: 1, b: [{ c: 'x' }] }, { b: [{ c: 'x' }], a: 1 }],
  ['empty lists', [], []],
  ['nothing at all', undefined, undefined],
  ['null', { a: null }, { a: null }],
])('the same are %s', (_, left, right) => {
  expect(isSameData(left, right)).toBe(true)
})

test.each([
  ['values', 1, 2],
  ['types', 1, '1'],
  ['an object and null', {}, null],
  ['an object and nothing', {}, undefined],
  ['a list and an object', [], {}],
  ['items', [1, 2], [1, 3]],
  ['lengths', [1], [1, 2]],
  ['fields', { a: 1 }, { a: 1, b: 2 }],
  ['names of fields', { a: undefined }, { b: undefined }],
  ['values deep inside', { a: [{ b: 1 }] }, { a: [{ b: 2 }] }],
])('different are %s', (_, left, right) => {
  expect(isSameData(left, right)).toBe(false)
  expect(isSameData(right, left)).toBe(false)
})
