import { expect, test } from 'vitest'
import { parsePortRange } from './port-range.ts'

test.each([
  ['', undefined],
  ['0', undefined],
  ['0-0', undefined],
  ['40000-40999', { first: 40_000, last: 40_999 }],
  [' 40000-40999 ', { first: 40_000, last: 40_999 }],
  ['7000+9', { first: 7000, last: 7009 }],
  ['7000', { first: 7000, last: 7000 }],
  ['1-65535', { first: 1, last: 65_535 }],
])('the range "%s" is %j', (text, range) => {
  expect(parsePortRange(text)).toEqual({ ok: true, range })
})

test.each([
  ['9-7', 'must not end before it begins'],
  ['70000', 'must end at 65535 or before'],
  ['65535+1', 'must end at 65535 or before'],
  ['0-5', 'must not begin with port 0'],
  ['web', 'must be empty, a port, or a range like 40000-40999 or 40000+999'],
  ['1-2-3', 'must be empty, a port, or a range like 40000-40999 or 40000+999'],
  ['-5', 'must be empty, a port, or a range like 40000-40999 or 40000+999'],
])('"%s" is no range: it %s', (text, problem) => {
  expect(parsePortRange(text)).toEqual({ ok: false, problem })
})
