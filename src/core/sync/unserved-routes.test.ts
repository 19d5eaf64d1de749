import { expect, test } from 'vitest'
import type { Change } from '../backend.ts'
import type { RouteKey } from '../route.ts'
import { UnservedRoutes } from './unserved-routes.ts'

const key = (name: string) => name as RouteKey
const failed = (name: string, reason = 'the kernel said no') => ({ key: key(name), reason })
const change = (...names: string[]): Change => ({ full: false, keys: names.map(key), causes: [] })

test('a route that could not be programmed is tried again, at longer and longer intervals', () => {
  const unserved = new UnservedRoutes(() => 30_000)
  unserved.note(change('a', 'b'), [failed('a')], 0)
  expect(unserved.waitMs(0)).toBe(30_000)
  expect(unserved.addTo(change('c'), 29_999).keys).toEqual(['c'])
  const retry = unserved.addTo(change('c'), 30_000)
  expect(retry).toMatchObject({ keys: ['c', 'a'], causes: ['retrying routes that failed'] })
  unserved.note(retry, [failed('a')], 30_000)
  expect(unserved.waitMs(30_000)).toBe(60_000)
  for (let now = 90_000, i = 0; i < 10; i++, now += 600_000) unserved.note(change('a'), [failed('a')], now)
  expect(unserved.waitMs(90_000 + 9 * 600_000)).toBe(600_000)
})

test('it is tried again even if only one of several that failed was looked at', () => {
  const unserved = new UnservedRoutes(() => 30_000)
  unserved.note(change('a', 'b'), [failed('a'), failed('b')], 0)
  unserved.note(change('a'), [failed('a')], 10_000)
  expect(unserved.waitMs(10_000)).toBe(60_000)
})

test('a sync that looks at it anyway stays as it is', () => {
  const unserved = new UnservedRoutes(() => 30_000)
  unserved.note(change('a'), [failed('a')], 0)
  const full: Change = { full: true, keys: [key('c')], causes: [] }
  expect(unserved.addTo(full, 30_000)).toBe(full)
  expect(unserved.addTo(change('a', 'c'), 30_000).keys).toEqual(['a', 'c'])
})

test('other changes neither hasten nor delay it', () => {
  const unserved = new UnservedRoutes(() => 30_000)
  unserved.note(change('a'), [failed('a')], 0)
  unserved.note(change('b'), [], 10_000)
  expect(unserved.waitMs(10_000)).toBe(20_000)
})

test('it is over when the route is programmed, or gone', () => {
  const unserved = new UnservedRoutes(() => 30_000)
  unserved.note(change('a'), [failed('a')], 0)
  unserved.note(change('a'), [], 30_000)
  expect(unserved.waitMs(30_000)).toBeUndefined()
  unserved.note(change('a'), [failed('a')], 40_000)
  unserved.note({ full: true, keys: [], causes: [] }, [], 50_000)
  expect(unserved.waitMs(50_000)).toBeUndefined()
  const next = change('c')
  expect(unserved.addTo(next, 90_000)).toBe(next)
})

test('the next failure after that begins with the shortest interval', () => {
  const unserved = new UnservedRoutes(() => 30_000)
  unserved.note(change('a'), [failed('a')], 0)
  unserved.note(change('a'), [failed('a')], 30_000)
  unserved.note(change('a'), [], 90_000)
  unserved.note(change('a'), [failed('a')], 100_000)
  expect(unserved.waitMs(100_000)).toBe(30_000)
})

test('why a route is not there is known until it is programmed, or gone', () => {
  const unserved = new UnservedRoutes(() => 30_000)
  unserved.note(change('a', 'b'), [failed('a', 'port 80 is in use')], 0)
  unserved.note(change('b'), [], 10_000)
  expect([unserved.why(key('a')), unserved.why(key('b'))]).toEqual(['port 80 is in use', undefined])
  unserved.note(change('a'), [failed('a', 'no memory')], 20_000)
  expect(unserved.why(key('a'))).toBe('no memory')
  unserved.note(change('a'), [], 30_000)
  expect(unserved.why(key('a'))).toBeUndefined()
})
