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

test('it is never one that Node.js would cut to a millisecond', async () => {
  const { stop, state } = sleeping(Infinity)
  const beganAt = Date.now()
  // The clock of the test cuts those that are too long, as Node.js does.
  await vi.advanceTimersToNextTimerAsync()
  expect(Date.now() - beganAt).toBeGreaterThan(1_000)
  expect(state.ended).toBe('no')
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
