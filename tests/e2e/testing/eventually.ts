import { vi } from 'vitest'
import { deadlineMs } from './deadline.ts'

/** Tries until it does not throw; its last error is the test's. For what happens in another process. */
export function eventually<T>(attempt: () => T | Promise<T>, withinMs = deadlineMs): Promise<T> {
  return vi.waitFor(attempt, { timeout: withinMs, interval: 20 })
}
