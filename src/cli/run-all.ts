/** Something that lives until the signal aborts, and has finished its last work when `run` resolves. */
export interface Runnable {
  run(signal: AbortSignal): Promise<void>
}

/** Runs all of them. When one fails, the others are aborted and awaited, and then its error is thrown. */
export async function runAll(parts: readonly Runnable[], signal: AbortSignal): Promise<void> {
  const stop = new AbortController()
  const both = AbortSignal.any([signal, stop.signal])
  const failures: unknown[] = []
  await Promise.all(
    parts.map(async (part) => {
      try {
        await part.run(both)
      } catch (error) {
        // Work that is cut off by the end of the signal rejects; that is not a failure.
        if (!both.aborted) failures.push(error)
        stop.abort()
      }
    }),
  )
  if (failures.length > 0) throw failures[0]
}

/** Runs the part for as long as the work takes. When one of the two fails, the other ends too. */
export async function runWith(
  part: Runnable,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const done = new AbortController()
  const worker: Runnable = {
    async run(running) {
      await work(running)
      done.abort()
    },
  }
  await runAll([part, worker], AbortSignal.any([signal, done.signal]))
}
