import { expect, test } from 'vitest'
import type { RouteKey } from '../route.ts'
import { testView } from '../testing/routes.ts'
import { noLinkedCauses } from './cause-links.ts'
import type { PendingSync } from './route-source.ts'
import { withUnprogrammed } from './unprogrammed.ts'

function pending(keys: readonly string[], rest: Partial<PendingSync> & { readonly causes?: readonly string[] } = {}) {
  const { causes = [], ...others } = rest
  const sync: PendingSync = {
    view: testView(),
    change: { full: false, keys: keys as readonly RouteKey[], causes },
    triggerTimesMs: [],
    removals: [],
    needsConntrackCleanup: false,
    causedBy: noLinkedCauses,
    ...others,
  }
  return sync
}

test('without a failure before, the next sync stays as it is', () => {
  const next = pending(['a'])
  expect(withUnprogrammed(undefined, next)).toBe(next)
})

test('what was not programmed comes first and once, in the view and the manner of the next sync', () => {
  const next = { ...pending(['b', 'c']), change: { full: true, keys: ['b', 'c'] as RouteKey[], causes: [] } }
  const both = withUnprogrammed(pending(['a', 'b']), next)
  expect(both.change).toMatchObject({ full: true, keys: ['a', 'b', 'c'] })
  expect(both.view).toBe(next.view)
})

test('times of changes are all kept, for each is to be measured until its programming; of too many the oldest go', () => {
  const times = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i)
  const both = (failed: readonly number[], next: readonly number[]) =>
    withUnprogrammed(pending([], { triggerTimesMs: failed }), pending([], { triggerTimesMs: next })).triggerTimesMs
  expect(both([1, 2], [3])).toEqual([1, 2, 3])
  expect(both(times(0, 6_000), times(6_000, 6_000))).toEqual(times(2_000, 10_000))
})

test.each([
  [false, false, false],
  [true, false, true],
  [false, true, true],
])('the connection table is cleaned if either sync wanted it: %s, %s', (failed, next, either) => {
  const wants = (needsConntrackCleanup: boolean) => pending([], { needsConntrackCleanup })
  expect(withUnprogrammed(wants(failed), wants(next)).needsConntrackCleanup).toBe(either)
})

test('each cause is said once, and not more than ten', () => {
  const causes = (failed: readonly string[], next: readonly string[]) =>
    withUnprogrammed(pending([], { causes: failed }), pending([], { causes: next })).change.causes
  expect(causes(['a', 'b'], ['b', 'c'])).toEqual(['a', 'b', 'c'])
  const many = Array.from({ length: 12 }, (_, i) => `cause ${i}`)
  expect(causes(many.slice(0, 9), many)).toEqual(many.slice(0, 10))
})
