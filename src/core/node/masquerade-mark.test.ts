import { expect, test } from 'vitest'
import { masqueradeMark } from './masquerade-mark.ts'

test('a bit becomes a mark of eight hex digits', () => {
  expect(masqueradeMark(14)).toBe('0x00004000')
  expect(masqueradeMark(0)).toBe('0x00000001')
})

test('the highest bit is not negative', () => {
  expect(masqueradeMark(31)).toBe('0x80000000')
})
