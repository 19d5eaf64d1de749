import { constants, PerformanceObserver } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { getHeapSpaceStatistics } from 'node:v8'
import { afterEach, expect, test } from 'vitest'
import { collectorOfIdleMoments } from './young-heap.ts'

interface GarbageCollection {
  readonly kind: number
  readonly flags: number
}

const collected: GarbageCollection[] = []
const observer = new PerformanceObserver((list) => {
  // The types of Node.js 20 do not have it.
  for (const entry of list.getEntries()) collected.push((entry as unknown as { detail: GarbageCollection }).detail)
})
afterEach(() => observer.disconnect())

/** Leaves objects that nobody needs, until so much of the room for new ones is used. */
function litter(part: number): void {
  const isEnough = () =>
    getHeapSpaceStatistics().some(
      ({ space_name, space_used_size: used, space_available_size: free }) =>
        space_name === 'new_space' && used >= part * (used + free),
    )
  while (!isEnough()) for (let list = 0; list < 100; list++) void Array.from({ length: 100 })
}

test('what a piece of work has left is collected a moment later, in an idle moment', async () => {
  const workDone = collectorOfIdleMoments()
  observer.observe({ entryTypes: ['gc'] })
  litter(0.6)
  workDone()
  const { NODE_PERFORMANCE_GC_MINOR: minor, NODE_PERFORMANCE_GC_FLAGS_FORCED: forced } = constants
  const isOurs = ({ kind, flags }: GarbageCollection) => kind === minor && (flags & forced) !== 0
  for (const end = Date.now() + 10_000; !collected.some(isOurs) && Date.now() < end;) await sleep(5)
  expect(collected.filter(isOurs)).toHaveLength(1)
})
