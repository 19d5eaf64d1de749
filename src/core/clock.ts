/** Time as a parameter, so that tests decide when it passes. */
export interface Clock {
  /** Wall clock, Unix milliseconds: for what people and other machines read. */
  now(): number
  /** Monotonic milliseconds: for durations, which a clock that jumps must not touch. */
  monotonic(): number
  /** Resolves after `ms`; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** Timers count in 31 bits of milliseconds, and one that is longer ends after a millisecond: a day is far below. */
const longestTimerMs = 24 * 60 * 60 * 1000

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error)
      const onAbort = () => {
        clearTimeout(timer)
        reject(signal.reason as Error)
      }
      const sleepOn = (leftMs: number) => {
        const timerMs = Math.min(leftMs, longestTimerMs)
        timer = setTimeout(() => {
          if (leftMs > timerMs) return sleepOn(leftMs - timerMs)
          signal.removeEventListener('abort', onAbort)
          resolve()
        }, timerMs)
      }
      let timer: ReturnType<typeof setTimeout>
      sleepOn(ms)
      signal.addEventListener('abort', onAbort, { once: true })
    }),
}
