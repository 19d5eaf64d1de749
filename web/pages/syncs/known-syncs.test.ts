import { expect, test } from 'vitest'
import type { SyncInShort } from '../../../src/observe/console/wire.ts'
import { shownSyncs, withChange } from './known-syncs.ts'

function sync(traceId: string, durationMs: number, family = 'ipv4'): SyncInShort {
  return { traceId, durationMs, family, startedAt: '', trigger: 'change', events: 1 }
}

test('new ones come first, a first list replaces all, and the oldest are forgotten', () => {
  const first = withChange([sync('old', 1)], { isFirst: true, syncs: [sync('a', 1), sync('b', 1)] })
  expect(first.map(({ traceId }) => traceId)).toEqual(['b', 'a'])
  const next = withChange(first, { syncs: [sync('c', 1), sync('d', 1)] })
  expect(next.map(({ traceId }) => traceId)).toEqual(['d', 'c', 'b', 'a'])
  const many = Array.from({ length: 600 }, (_, index) => sync(`${index}`, 1))
  expect(withChange(next, { syncs: many })).toHaveLength(500)
})

test('by family, and the slowest first', () => {
  const known = [sync('a', 1), sync('b', 9), sync('c', 5, 'ipv6')]
  expect(shownSyncs(known, { family: '', order: 'slowest' }).map(({ traceId }) => traceId)).toEqual(['b', 'c', 'a'])
  expect(shownSyncs(known, { family: 'ipv6', order: 'newest' }).map(({ traceId }) => traceId)).toEqual(['c'])
  expect(known[0]?.traceId).toBe('a')
})
