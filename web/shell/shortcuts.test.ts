import { expect, test } from 'vitest'
import { commandOf } from './shortcuts.ts'

test('g and a letter go to a page, if the one soon follows the other', () => {
  const g = { key: 'g', at: 1_000 }
  expect(commandOf(g, undefined)).toBeUndefined()
  expect(commandOf({ key: 's', at: 1_400 }, g)).toEqual({ does: 'go', letter: 's' })
  expect(commandOf({ key: 's', at: 9_000 }, g)).toBeUndefined()
  expect(commandOf({ key: 'Escape', at: 1_100 }, g)).toBeUndefined()
})

test('after g, t goes to a page and does not change the theme', () => {
  expect(commandOf({ key: 't', at: 1_100 }, { key: 'g', at: 1_000 })).toEqual({ does: 'go', letter: 't' })
  expect(commandOf({ key: 't', at: 1_100 }, { key: 'x', at: 1_000 })).toEqual({ does: 'theme' })
})

test('slash searches, a question mark helps', () => {
  expect(commandOf({ key: '/', at: 0 }, undefined)).toEqual({ does: 'search' })
  expect(commandOf({ key: '?', at: 0 }, undefined)).toEqual({ does: 'help' })
})
