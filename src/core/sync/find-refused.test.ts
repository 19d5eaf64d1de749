import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findRefused } from './find-refused.ts'
import type { RouteKey } from '../route.ts'

const keys = (...names: readonly string[]) => names as readonly RouteKey[]
const refusal = new Error('the kernel said no')

test('every route that is refused alone is found, and nobody else', async () => {
  const all = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(all, fc.infiniteStream(fc.boolean()), async (names, coin) => {
      const bad = new Set(names.filter(() => coin.next().value))
      const failed = await findRefused(keys(...names), async (tried) =>
        tried.some((key) => bad.has(key)) ? refusal : undefined,
      )
      expect(failed).toEqual(names.filter((name) => bad.has(name)).map((key) => ({ key, reason: refusal.message })))
    }),
  )
})

test('of two that are refused only together, one is left out', async () => {
  const failed = await findRefused(keys('a', 'b', 'c', 'd', 'e'), async (tried) =>
    tried.includes('b' as RouteKey) && tried.includes('d' as RouteKey) ? refusal : undefined,
  )
  expect(failed.map(({ key }) => key)).toEqual(['d'])
})

test('many that are refused cost not much more than a few', async () => {
  let trials = 0
  const names = Array.from({ length: 10_000 }, (_, index) => `route-${index}`)
  const failed = await findRefused(keys(...names), async () => {
    trials++
    return refusal
  })
  expect(failed).toHaveLength(10_000)
  expect(trials).toBeLessThan(1000)
})
