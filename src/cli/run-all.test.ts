import { expect, test } from 'vitest'
import { runAll } from './run-all.ts'
import type { Runnable } from './run-all.ts'

/** Runs until aborted, then needs a moment to finish. */
function worker(finished: string[], name: string): Runnable {
  return {
    run: (signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => setImmediate(() => resolve(void finished.push(name))), { once: true })
      }),
  }
}

test('all parts run until the signal, and each finishes its last work', async () => {
  const finished: string[] = []
  const stop = new AbortController()
  const running = runAll([worker(finished, 'a'), worker(finished, 'b')], stop.signal)
  stop.abort()
  await running
  expect(finished).toEqual(['a', 'b'])
})

test('when one part fails the others end in order, and its error is the one that is thrown', async () => {
  const finished: string[] = []
  const failing = { run: () => Promise.reject(new Error('broken')) }
  const angry = {
    run: (signal: AbortSignal) =>
      new Promise<void>((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('was stopped')), { once: true })
      }),
  }
  await expect(runAll([worker(finished, 'a'), angry, failing], new AbortController().signal)).rejects.toThrow('broken')
  expect(finished).toEqual(['a'])
})
