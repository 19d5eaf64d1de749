import { expect, test } from 'vitest'
import { ageStep, jittered, type AgedConnection } from './connection-age.ts'

const grace = 8_000

/** Overdue for so long, and silent for so long. */
function step(overdueMs: number, quietMs: number, other: Partial<AgedConnection> = {}) {
  const nowMs = 100_000
  return ageStep(
    { dueMs: nowMs - overdueMs, graceMs: grace, movedMs: nowMs - quietMs, isAnswered: true, canEnd: true, ...other },
    nowMs,
  )
}

test('a connection waits until it has its age', () => {
  expect(step(-1_000, 50_000)).toEqual({ kind: 'wait', untilMs: 101_000 })
})

test('at first it ends after an answer and a second of silence', () => {
  expect(step(0, 1_000).kind).toBe('end')
  expect(step(0, 999)).toEqual({ kind: 'wait', untilMs: 100_001 })
})

test('the longer it is overdue, the shorter a silence will do', () => {
  const shortest = [0, 1, 2, 3, 4, 5, 6, 7].map((stage) =>
    Array.from({ length: 1_001 }, (_, quietMs) => quietMs).find(
      (quietMs) => step(stage * 1_000, quietMs).kind === 'end',
    ),
  )
  expect(shortest).toEqual([1_000, 500, 250, 125, 63, 32, 16, 8])
})

test('one whose client was the last to send is left alone for half of the grace, and then for five seconds of silence', () => {
  expect(step(3_999, 60_000, { isAnswered: false }).kind).toBe('wait')
  expect(step(4_000, 4_999, { isAnswered: false }).kind).toBe('wait')
  expect(step(4_000, 5_000, { isAnswered: false }).kind).toBe('end')
})

test('one that is half closed, or has bytes on the way, is not ended gently', () => {
  expect(step(7_000, 60_000, { canEnd: false }).kind).toBe('wait')
})

test('at the end of the grace it ends in any case: gently if it has been silent, else by a reset', () => {
  expect(step(grace, 1_000, { isAnswered: false }).kind).toBe('end')
  expect(step(grace, 999).kind).toBe('cut')
  expect(step(grace, 60_000, { canEnd: false }).kind).toBe('cut')
})

test('looks again soon enough, and never at once', () => {
  for (let overdueMs = 0; overdueMs < grace; overdueMs += 37)
    for (const quietMs of [0, 3, 40, 700, 4_000])
      for (const isAnswered of [true, false]) {
        const next = step(overdueMs, quietMs, { isAnswered })
        if (next.kind !== 'wait') continue
        expect(next.untilMs).toBeGreaterThan(100_000)
        expect(next.untilMs).toBeLessThanOrEqual(101_000)
      }
})

test('ages differ by up to a tenth', () => {
  expect(jittered(1_000, () => 0)).toBe(900)
  expect(jittered(1_000, () => 0.5)).toBe(1_000)
  expect(jittered(1_000, () => 1)).toBeCloseTo(1_100)
})
