import fc from 'fast-check'
import { expect, test } from 'vitest'
import { columns, filters, nextSort, questionIn, searchOf } from './question.ts'

const question = fc.record({
  text: fc.string({ unit: 'grapheme' }),
  filters: fc.subarray([...filters]),
  namespace: fc.string(),
  sort: fc.record({ column: fc.constantFrom(...columns), isDescending: fc.boolean() }),
})

test('an address keeps a question', () => {
  fc.assert(
    fc.property(question, (asked) => {
      expect(questionIn(new URLSearchParams(searchOf(asked)))).toEqual(asked)
    }),
  )
})

test('the ordinary question leaves the address alone', () => {
  expect(searchOf(questionIn(new URLSearchParams('')))).toBe('')
})

test('an address is easy to read', () => {
  const asked = questionIn(new URLSearchParams('?q=web&filter=external,problem&namespace=shop&sort=-rate'))
  expect(searchOf(asked)).toBe('?q=web&filter=problem,external&namespace=shop&sort=-rate')
})

test('what an address has of no known filter or column is left out', () => {
  const asked = questionIn(new URLSearchParams('?filter=tall,problem&sort=colour'))
  expect(asked).toMatchObject({ filters: ['problem'], sort: { column: 'name', isDescending: false } })
})

test('numbers begin with the greatest, names with a', () => {
  const byName = { column: 'name', isDescending: false } as const
  expect(nextSort(byName, 'rate')).toEqual({ column: 'rate', isDescending: true })
  expect(nextSort({ column: 'rate', isDescending: true }, 'rate')).toEqual({ column: 'rate', isDescending: false })
  expect(nextSort(byName, 'type')).toEqual({ column: 'type', isDescending: false })
})
