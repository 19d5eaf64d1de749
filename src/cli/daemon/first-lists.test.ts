import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { FirstLists } from './first-lists.ts'

function waitingLists() {
  const clock = new FakeClock()
  const stop = new AbortController()
  const lists = new FirstLists(clock, stop.signal)
  let areRead = false
  void lists.mayBeRead.then(() => (areRead = true))
  return { clock, stop, lists, areRead: () => areRead }
}

test('they wait until they are wanted, and leave no timer behind', async () => {
  const { clock, lists, areRead } = waitingLists()
  await clock.advance(1000)
  expect(areRead()).toBe(false)
  lists.read()
  await clock.advance(0)
  expect(areRead()).toBe(true)
  expect(clock.sleeping).toBe(0)
})

test('a start that takes long does not keep them waiting', async () => {
  const { clock, areRead } = waitingLists()
  await clock.advance(2000)
  expect(areRead()).toBe(true)
})

test('a start that is told to end leaves no timer behind', async () => {
  const { clock, stop } = waitingLists()
  stop.abort()
  await clock.advance(0)
  expect(clock.sleeping).toBe(0)
})
