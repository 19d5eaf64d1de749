import { expect, test } from 'vitest'
import { disjointCidrs } from './disjoint-cidrs.ts'

test('a range inside another goes, whatever the order', () => {
  expect(disjointCidrs(['10.1.0.0/16', '10.0.0.0/8', '10.1.2.3/32'])).toEqual(['10.0.0.0/8'])
})

test('a range that begins where a wider one begins goes too', () => {
  expect(disjointCidrs(['10.0.0.0/16', '10.0.0.0/8'])).toEqual(['10.0.0.0/8'])
  expect(disjointCidrs(['10.0.0.0/8', '10.0.0.0/16'])).toEqual(['10.0.0.0/8'])
})

test('what is no range is left out', () => {
  expect(disjointCidrs(['10.0.0.0', 'x', '10.0.0.0/8'])).toEqual(['10.0.0.0/8'])
})

test('of equal ranges the first stays', () => {
  expect(disjointCidrs(['10.0.0.0/8', '10.1.2.3/8'])).toEqual(['10.0.0.0/8'])
  expect(disjointCidrs(['2001:db8::/32', '2001:db8::/32'])).toEqual(['2001:db8::/32'])
})

test('neighbours and ranges of different families stay', () => {
  expect(disjointCidrs(['10.1.0.0/16', '::/0', '10.0.0.0/16'])).toEqual(['10.0.0.0/16', '10.1.0.0/16', '::/0'])
})
