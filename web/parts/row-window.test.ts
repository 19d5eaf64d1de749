import { expect, test } from 'vitest'
import { rowAfterKey, rowsIn, topToShow } from './row-window.ts'

test('what is drawn is what is seen and a little more, never beyond the list', () => {
  expect(rowsIn({ top: 0, height: 400 }, 40, 1_000)).toEqual([0, 18])
  expect(rowsIn({ top: 20_010, height: 400 }, 40, 1_000)).toEqual([492, 519])
  expect(rowsIn({ top: 39_600, height: 400 }, 40, 1_000)).toEqual([982, 1_000])
  expect(rowsIn({ top: 5_000, height: 400 }, 40, 3)).toEqual([3, 3])
})

test('a list moves no further than it must', () => {
  const scroll = { top: 400, height: 200 }
  expect(topToShow(12, scroll, 40)).toBe(400)
  expect(topToShow(9, scroll, 40)).toBe(360)
  expect(topToShow(15, scroll, 40)).toBe(440)
  expect(topToShow(0, { top: 0, height: 20 }, 40)).toBe(0)
})

test('keys lead to rows, and stop at both ends', () => {
  expect(rowAfterKey('ArrowDown', 0, 10, 3)).toBe(1)
  expect(rowAfterKey('ArrowDown', 2, 10, 3)).toBe(2)
  expect(rowAfterKey('ArrowUp', 0, 10, 3)).toBe(0)
  expect(rowAfterKey('PageDown', 5, 10, 100)).toBe(14)
  expect(rowAfterKey('PageUp', 5, 10, 100)).toBe(0)
  expect(rowAfterKey('Home', 50, 10, 100)).toBe(0)
  expect(rowAfterKey('End', 50, 10, 100)).toBe(99)
  expect(rowAfterKey('a', 0, 10, 3)).toBeUndefined()
  expect(rowAfterKey('constructor', 0, 10, 3)).toBeUndefined()
  expect(rowAfterKey('ArrowDown', 0, 10, 0)).toBeUndefined()
})
