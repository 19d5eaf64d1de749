import { expect, test } from 'vitest'
import { skewOf } from './skew.ts'
import { testEndpoint, testRoute } from './testing/routes.ts'
import type { Traffic } from './traffic.ts'

const pods = ['10.64.0.1', '10.64.0.2', '10.64.0.3'].map((ip) => testEndpoint(ip, 80))
const web = testRoute('shop/web', { endpoints: pods })
const open = (...counts: readonly (number | undefined)[]): { readonly endpoints: ReadonlyMap<string, Traffic> } => ({
  endpoints: new Map(
    counts.flatMap((count, index) => (count === undefined ? [] : [[pods[index]?.address ?? '', { open: count }]])),
  ),
})

test('an even spread has ratio 1', () => {
  expect(skewOf(web, open(4, 4, 4))).toEqual({ even: 4, most: 4, ratio: 1 })
})

test('an endpoint that nothing is open to counts for the even share', () => {
  expect(skewOf(web, open(6, 3, undefined))).toEqual({ even: 3, most: 6, ratio: 2 })
})

test('there is none where nothing is open, nothing is known, or there is nobody to share with', () => {
  expect(skewOf(web, open(0, 0, 0))).toBeUndefined()
  expect(skewOf(web, {})).toBeUndefined()
  expect(skewOf(web, { endpoints: new Map([['10.64.0.1:80', { connections: 3 }]]) })).toBeUndefined()
  expect(skewOf(testRoute('shop/one', { endpoints: pods.slice(0, 1) }), open(3))).toBeUndefined()
})

test('a Service may have more endpoints than a function takes arguments', () => {
  const crowd = Array.from({ length: 300_000 }, (_, index) =>
    testEndpoint(`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`, 80),
  )
  const endpoints = new Map(crowd.map(({ address }, index) => [address, { open: index === 7 ? 2 : 1 }]))
  expect(skewOf(testRoute('shop/crowd', { endpoints: crowd }), { endpoints })?.most).toBe(2)
})
