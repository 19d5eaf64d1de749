import { expect, test } from 'vitest'
import { RevisionTimes } from './revision-times.ts'

test('who has an old revision is behind since the next one came', () => {
  const times = new RevisionTimes()
  expect(times.firstAfterMs(0)).toBeUndefined()
  times.note(3, 100)
  times.note(5, 200)
  times.note(6, 300)
  expect([0, 3, 4, 5, 6, 7].map((revision) => times.firstAfterMs(revision))).toEqual([
    100,
    200,
    200,
    300,
    undefined,
    undefined,
  ])
})

test('of revisions long ago only the last thousands are known', () => {
  const times = new RevisionTimes()
  for (let revision = 1; revision <= 10_000; revision++) times.note(revision, revision * 10)
  expect(times.firstAfterMs(9_999)).toBe(100_000)
  expect(times.firstAfterMs(10_000)).toBeUndefined()
  expect(times.firstAfterMs(6_000)).toBe(60_010)
  expect(times.firstAfterMs(1)).toBe((10_000 - 4096 + 1) * 10)
})
