import { expect, test } from 'vitest'
import { ago, bytes, count, duration, percent, rate, shortNumber, timeOfDay, wholeNumber } from './format.ts'

test.each([
  [0, '0'],
  [0.04, '0.04'],
  [0.44, '0.4'],
  [9.96, '10'],
  [12.4, '12'],
  [999.4, '999'],
  [999.6, '1k'],
  [3_400, '3.4k'],
  [1_200_000, '1.2M'],
])('a number of %d is short', (value, text) => {
  expect(shortNumber(value)).toBe(text)
})

test('every digit is there where it is asked for', () => {
  expect(wholeNumber(1_234_567)).toBe('1,234,567')
  expect(count(1, 'endpoint')).toBe('1 endpoint')
  expect(count(0, 'entry', 'entries')).toBe('0 entries')
})

test('rates, parts and bytes have their unit', () => {
  expect(rate(12)).toBe('12/s')
  expect(percent(1 / 3)).toBe('33 %')
  expect(percent(0.004)).toBe('0.4 %')
  expect(percent(0)).toBe('0 %')
  expect(bytes(512)).toBe('512 B')
  expect(bytes(1_290)).toBe('1.3 KiB')
})

test.each([
  [0, '0 ms'],
  [0.0123, '0.012 ms'],
  [4.25, '4.3 ms'],
  [1_500, '1.5 s'],
  [180_000, '3 min'],
  [7_200_000, '2 h'],
  [345_600_000, '4 d'],
])('%d ms is said in one unit', (ms, text) => {
  expect(duration(ms)).toBe(text)
})

test('an age begins with "just now"', () => {
  const at = '2026-11-16T12:00:00Z'
  expect(ago(at, Date.parse(at) + 400)).toBe('just now')
  expect(ago(at, Date.parse(at) + 4_900)).toBe('4 s ago')
  expect(ago('never', 0)).toBe('never')
})

test('a time of day has milliseconds where they matter', () => {
  const at = new Date(2026, 10, 16, 9, 5, 7, 42).toISOString()
  expect(timeOfDay(at)).toBe('09:05:07')
  expect(timeOfDay(at, true)).toBe('09:05:07.042')
})
