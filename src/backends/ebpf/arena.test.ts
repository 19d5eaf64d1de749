import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { extentSize, Space } from './arena.ts'

/** How long what is out of use rests. */
const restMs = 60_000

function newSpace(end: number) {
  const clock = new FakeClock()
  return { clock, space: new Space({ first: 2, end, clock }) }
}

test('what was retired is given out again when it has rested, and not before', async () => {
  const { clock, space } = newSpace(6)
  const first = space.take(4)
  expect(first).toEqual({ base: 2, size: 4, isNew: true })
  space.retire({ base: 2, size: 4 })
  expect(space.take(4)).toBeUndefined()
  await clock.advance(restMs - 1)
  expect(space.take(4)).toBeUndefined()
  await clock.advance(1)
  expect(space.take(4)).toEqual({ base: 2, size: 4, isNew: false })
})

test('nothing rests any more when all programs have ended', () => {
  const { space } = newSpace(6)
  space.take(4)
  space.retire({ base: 2, size: 4 })
  expect(space.hasRoomFor(4)).toBe(false)
  space.wakeAll()
  expect(space.take(4)).toMatchObject({ base: 2 })
})

test('what was taken and never used need not rest', () => {
  const { space } = newSpace(6)
  space.take(4)
  space.giveBack({ base: 2, size: 4 })
  expect(space.used).toBe(0)
  expect(space.take(4)).toMatchObject({ base: 2, size: 4 })
})

test('a large extent is split for small ones, without an overlap and without a loss', () => {
  const { space } = newSpace(10)
  space.take(8)
  space.retire({ base: 2, size: 8 })
  space.wakeAll()
  const taken = [1, 2, 1, 4].map((size) => space.take(size))
  const elements = taken.flatMap((extent) =>
    Array.from({ length: extent?.size ?? 0 }, (_, place) => (extent?.base ?? 0) + place),
  )
  expect(elements.toSorted((a, b) => a - b)).toEqual([2, 3, 4, 5, 6, 7, 8, 9])
  expect(space.take(1)).toBeUndefined()
})

test('what a process finds taken is never given out, and gaps between rest at first', async () => {
  const clock = new FakeClock()
  const space = Space.found(
    { first: 1, end: 10, clock },
    [
      { base: 6, size: 2 },
      { base: 2, size: 2 },
    ],
    9,
  )
  expect(space.used).toBe(4)
  expect(space.take(1)).toEqual({ base: 9, size: 1, isNew: true })
  expect(space.take(1)).toBeUndefined()
  await clock.advance(restMs)
  const bases = Array.from({ length: 4 }, () => space.take(1)?.base)
  expect(new Set(bases)).toEqual(new Set([1, 4, 5, 8]))
  expect(space.take(1)).toBeUndefined()
})

test.each([
  [0, 1],
  [1, 1],
  [3, 4],
  [4, 4],
  [65_535, 65_536],
])('a list of %i endpoints gets room for %i', (count, size) => {
  expect(extentSize(count)).toBe(size)
})
