import { expect, test } from 'vitest'
import { SharedTexts } from './shared-texts.ts'

test('a text stays what it is, known or not, also beyond the limit', () => {
  const shared = new SharedTexts(2)
  const zones = ['a', 'b', 'c', 'a', 'c']
  expect(zones.map((zone) => shared.get(zone))).toEqual(zones)
})
