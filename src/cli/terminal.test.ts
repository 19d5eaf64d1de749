import { expect, test } from 'vitest'
import { noTerminal, paint, terminalOf } from './terminal.ts'

test('a pipe has neither a width nor colours', () => {
  expect(terminalOf({}, {})).toBe(noTerminal)
  expect(paint(noTerminal, 'red', 'Error')).toBe('Error')
})

test('a terminal has both, and its width is asked each time', () => {
  const stream = { isTTY: true, columns: 100 }
  const terminal = terminalOf(stream, {})
  expect([terminal.columns, paint(terminal, 'red', 'Error')]).toEqual([100, '\u001B[31mError\u001B[39m'])
  stream.columns = 60
  expect(terminal.columns).toBe(60)
})

test.each([
  { env: { NO_COLOR: '1' }, expected: { columns: 90, hasColour: false } },
  { env: { NO_COLOR: '' }, expected: { columns: 90, hasColour: true } },
  { env: { TERM: 'dumb' }, expected: { columns: undefined, hasColour: false } },
])('the environment $env is respected', ({ env, expected }) => {
  expect(terminalOf({ isTTY: true, columns: 90 }, env)).toEqual(expected)
})

test('a terminal that does not know its width is taken for 80 columns', () => {
  expect(terminalOf({ isTTY: true, columns: 0 }, {}).columns).toBe(80)
})
