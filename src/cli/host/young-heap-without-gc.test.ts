import type vm from 'node:vm'
import { expect, test, vi } from 'vitest'
import { collectorOfIdleMoments } from './young-heap.ts'

vi.mock('node:v8', () => ({
  setFlagsFromString: () => undefined,
  // Full, so that collecting is worth it.
  getHeapSpaceStatistics: () => [{ space_name: 'new_space', space_used_size: 9, space_available_size: 1 }],
}))
vi.mock('node:vm', async (original) => {
  const { runInNewContext } = await original<typeof vm>()
  return { runInNewContext: (code: string) => runInNewContext(`delete globalThis.gc; ${code}`) as unknown }
})

test('where V8 has no function to collect with, nothing is collected, and the process goes on', () => {
  vi.useFakeTimers()
  const workDone = collectorOfIdleMoments()
  for (let n = 0; n < 2; n++) {
    workDone()
    expect(() => vi.advanceTimersByTime(1_000)).not.toThrow()
  }
  vi.useRealTimers()
})
