import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { systemClock } from './clock.ts'

const day = 24 * 60 * 60 * 1000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function sleeping(ms: number) {
  const stop = new AbortController()
  const state = { ended: 'no' }
  const sleep = systemClock.sleep(ms, stop.signal).then(
    () => (state.ended = 'slept'),
    (error: unknown) => (state.ended = String(error)),
  )
  return { stop, state, sleep }
}

test('a sleep may be longer than a timer can be', async () => {
  const { state } = sleeping(60 * day)
  await vi.advanceTimersByTimeAsync(60 * day - 1)
  expect(state.ended).toBe('no')
  await vi.advanceTimersByTimeAsync(1)
  expect(state.ended).toBe('slept')
  expect(vi.getTimerCount()).toBe(0)
})

test('it is never one that Node.js would cut to a millisecond', () => {
  const timers = vi.spyOn(globalThis, 'setTimeout')
  const { stop } = sleeping(Infinity)
  expect(timers.mock.calls.every(([, ms]) => ms !== undefined && ms < 2 ** 31)).toBe(true)
  stop.abort()
})

test('a long sleep can be ended at any time', async () => {
  const { stop, state, sleep } = sleeping(60 * day)
  await vi.advanceTimersByTimeAsync(50 * day)
  stop.abort('enough')
  await sleep
  expect(state.ended).toBe('enough')
  expect(vi.getTimerCount()).toBe(0)
})

test('who is told to stop before does not sleep', async () => {
  await expect(systemClock.sleep(10, AbortSignal.abort('stopped'))).rejects.toBe('stopped')
  expect(vi.getTimerCount()).toBe(0)
})
