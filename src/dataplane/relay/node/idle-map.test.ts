import { expect, test } from 'vitest'
import { FakeClock } from '../../../core/testing/fake-clock.ts'
import { IdleMap } from './idle-map.ts'

test('an entry leaves when nobody used it for the idle time, and use keeps it', async () => {
  const { map, clock, left } = given()
  map.add('a', 1)
  await clock.advance(200)
  map.add('b', 2)
  map.use('a')
  await clock.advance(249)
  expect(left).toEqual([])
  await clock.advance(26)
  expect(left.toSorted()).toEqual(['a', 'b'])
  expect(map.size).toBe(0)
})

test('nothing waits once the map is empty', async () => {
  const { map, clock } = given()
  map.add('a', 1)
  await clock.advance(0)
  expect(clock.sleeping).toBe(1)
  map.remove('a')
  await clock.advance(0)
  expect(clock.sleeping).toBe(0)
})

test('an entry that comes right after the last one left expires too', async () => {
  const { map, clock, left } = given()
  map.add('a', 1)
  map.remove('a')
  map.add('b', 2)
  await clock.advance(300)
  expect(left).toEqual(['b'])
  expect(clock.sleeping).toBe(0)
})

function given() {
  const clock = new FakeClock()
  const left: string[] = []
  const map = new IdleMap<string, number>({ idleMs: 250, clock, onIdle: (key) => left.push(key) })
  return { map, clock, left }
}
