import { expect, test } from 'vitest'
import { colourOf, numberOf } from './replica-colour.ts'

test('a replica is known by its number', () => {
  expect(['web-1', 'my-web-12', 'somebody'].map(numberOf)).toEqual(['1', '12', '?'])
})

test('six colours are used in turn, and one is for others', () => {
  expect(['web-1', 'web-6', 'web-7', 'somebody'].map(colourOf)).toEqual([1, 6, 1, 0])
})
