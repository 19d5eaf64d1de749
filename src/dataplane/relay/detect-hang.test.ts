import { expect, test } from 'vitest'
import { FakeClock } from '../../core/testing/fake-clock.ts'
import { detectHang } from './detect-hang.ts'

const stuckAfterMs = 10_000

function watch(watched: Partial<Parameters<typeof detectHang>[0]> = {}) {
  const clock = new FakeClock()
  const over = new AbortController()
  const asked: (() => void)[] = []
  let isStuck = false
  const ping = () => new Promise<void>((resolve) => asked.push(resolve))
  const watching = detectHang({ ping, ...watched }, { clock, stuckAfterMs }, over.signal)
  void watching.then(
    () => (isStuck = true),
    () => {},
  )
  return { clock, asked, over, watching, isStuck: () => isStuck }
}

test('who answers, however late within the time, is not stuck', async () => {
  const { clock, asked, isStuck } = watch()
  for (let round = 0; round < 20; round++) {
    await clock.advance(9_500)
    asked.splice(0).forEach((answer) => answer())
  }
  expect(isStuck()).toBe(false)
})

test('who does not answer is, within the time and the moment until it is asked', async () => {
  const { clock, isStuck } = watch()
  await clock.advance(10_000)
  expect(isStuck()).toBe(false)
  await clock.advance(1_000)
  expect(isStuck()).toBe(true)
})

test('who has much to do before the answer is not stuck, until nothing moves any more', async () => {
  let [isMoving, moves] = [true, 0]
  const hasMoved = () => {
    moves++
    return isMoving
  }
  const { clock, isStuck } = watch({ hasMoved })
  await clock.advance(60_000)
  expect(isStuck()).toBe(false)
  expect(moves).toBeGreaterThan(50)
  isMoving = false
  await clock.advance(10_000)
  expect(isStuck()).toBe(true)
})

test('a machine that was suspended does not hold it against anybody: one look is one look, however long it took', async () => {
  let elapsedMs = 0
  const asked: (() => void)[] = []
  let looks = 0
  const over = new AbortController()
  // The sleep that was under way took an hour; all others take what they should.
  const clock = {
    now: () => elapsedMs,
    monotonic: () => elapsedMs,
    async sleep(ms: number, signal: AbortSignal) {
      signal.throwIfAborted()
      elapsedMs += ++looks === 3 ? 3_600_000 : ms
      if (looks === 6) asked.splice(0).forEach((answer) => answer())
      if (looks === 9) over.abort(new Error('over'))
      await new Promise(setImmediate)
    },
  }
  const ping = () => new Promise<void>((resolve) => asked.push(resolve))
  await expect(detectHang({ ping }, { clock, stuckAfterMs }, over.signal)).rejects.toThrow('over')
})

test('ends when it is told to, and leaves no timer', async () => {
  const { clock, over, watching } = watch()
  await clock.advance(1_500)
  over.abort(new Error('over'))
  await expect(watching).rejects.toThrow('over')
  expect(clock.sleeping).toBe(0)
})
