import { expect, test } from 'vitest'
import { familiesIn, latencies, summaryOf, withSyncs } from './sync-history.ts'

function sync(second: number, durationMs: number, family = 'ipv4', error?: string) {
  const startedAt = new Date(second * 1_000).toISOString()
  const id = `${family}-${second}-${durationMs}`
  return {
    traceId: id,
    startedAt,
    durationMs,
    family,
    trigger: 'change',
    events: 1,
    ...(error !== undefined && { error }),
  }
}

test('a new stream tells again what was heard before, and something older may be gone from it', () => {
  const before = withSyncs([], { isFirst: true, syncs: [sync(1, 5), sync(2, 6)] })
  const after = withSyncs(before, { isFirst: true, syncs: [sync(2, 6), sync(3, 7)] })
  expect(after.map(({ durationMs }) => durationMs)).toEqual([5, 6, 7])
  expect(withSyncs(after, { syncs: [sync(4, 8)] }).map(({ atMs }) => atMs)).toEqual([1_000, 2_000, 3_000, 4_000])
})

test('a chart has the slowest of each second, per family', () => {
  const syncs = withSyncs([], {
    isFirst: true,
    syncs: [sync(1, 5), sync(9, 4), sync(9, 8), sync(9, 3, 'ipv6'), sync(11, 1)],
  })
  expect(familiesIn(syncs)).toEqual(['ipv4', 'ipv6'])
  expect(latencies(syncs, ['ipv4', 'ipv6'], 5_000)).toEqual([
    [9, 11],
    [8, 1],
    [3, null],
  ])
})

test('a summary has the middle and the worst', () => {
  const syncs = withSyncs([], { isFirst: true, syncs: [sync(1, 50), sync(2, 1), sync(3, 2, 'ipv4', 'refused')] })
  expect(summaryOf(syncs)).toEqual({ count: 3, failures: 1, medianMs: 2, slowestMs: 50 })
  expect(summaryOf([])).toBeUndefined()
})
