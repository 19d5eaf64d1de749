import { expect, test } from 'vitest'
import { parseVisible, visible, visibleData, visibleInOneLine } from './visible.ts'

const escape = '\u001B'

test('what steers a terminal is shown instead, and lines stay lines', () => {
  expect(visible(`red ${escape}[31m\r\u0007\u009Bx\nnext\tcell`)).toBe(
    String.raw`red \u001b[31m\u000d\u0007\u009bx` + '\nnext\tcell',
  )
  expect(visibleInOneLine('a\nb\tc')).toBe(String.raw`a\u000ab\u0009c`)
  expect(visible('Größe 10 µs …')).toBe('Größe 10 µs …')
})

test('in data it is shown wherever it stands', () => {
  const shown = { [String.raw`\u001b`]: [String.raw`\u001b[2J`, 1, null], rest: { plain: true } }
  expect(visibleData({ [escape]: [`${escape}[2J`, 1, null], rest: { plain: true } })).toEqual(shown)
  expect(parseVisible(JSON.stringify({ [escape]: [`${escape}[2J`, 1, null], rest: { plain: true } }))).toEqual(shown)
})
