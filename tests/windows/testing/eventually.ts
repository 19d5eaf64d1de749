import { eventually as eventuallyWithin } from '../../e2e/testing/eventually.ts'

/** Under Wine a program may take a while to start on a busy machine. */
const deadlineMs = 90_000

export function eventually<T>(attempt: () => T | Promise<T>): Promise<T> {
  return eventuallyWithin(attempt, deadlineMs)
}
