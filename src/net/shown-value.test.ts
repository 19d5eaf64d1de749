import { expect, test } from 'vitest'
import { shortened, shownValue } from './shown-value.ts'

const megabyte = 'x'.repeat(1 << 20)

test.each([
  ['web', '"web"'],
  ['two\nlines \u001b[2J', String.raw`"two\nlines \u001b[2J"`],
  [undefined, 'missing'],
  [null, 'null'],
  [8080, '8080'],
  [10n, '10'],
  [true, 'true'],
  [['a'], 'a list'],
  [{ a: 1 }, 'an object'],
  [megabyte, `"${'x'.repeat(256)}"… (1048576 characters)`],
])('a value is shown in quotes and never long', (value, shown) => {
  expect(shownValue(value)).toBe(shown)
})

test('what is long only once it is quoted is cut too', () => {
  expect(shownValue('\u0000'.repeat(256)).length).toBeLessThan(600)
  expect(shownValue('\u0000'.repeat(1 << 20)).length).toBeLessThan(1_700)
})

test('a text keeps its beginning', () => {
  expect(shortened('short')).toBe('short')
  expect(shortened('x'.repeat(512))).toBe('x'.repeat(512))
  expect(shortened(megabyte)).toBe(`${'x'.repeat(512)}… (1048576 characters)`)
})
