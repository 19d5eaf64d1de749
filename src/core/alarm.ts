import type { Clock } from './clock.ts'

/** Without a reason of ours each would get an exception with a stack. */
const replaced = 'replaced'

/**
 * Waits for a moment, or until somebody rings. A timer that goes off before its time is left alone, because whoever
 * waits looks again anyway: so those who are rung in every sync, long before anything is due, hardly ever set one.
 */
export class Alarm implements Disposable {
  readonly #clock: Pick<Clock, 'monotonic' | 'sleep'>
  #timer: { readonly atMs: number; readonly abort: AbortController } | undefined
  #waiting: { resolve(): void; reject(reason: unknown): void } | undefined

  constructor(clock: Pick<Clock, 'monotonic' | 'sleep'>) {
    this.#clock = clock
  }

  /** Resolves at that time of the monotonic clock at the latest. */
  wait(atMs: number): Promise<void> {
    if (this.#timer === undefined || this.#timer.atMs > atMs) this.#set(atMs)
    return new Promise((resolve, reject) => (this.#waiting = { resolve, reject }))
  }

  ring(): void {
    this.#waiting?.resolve()
    this.#waiting = undefined
  }

  [Symbol.dispose](): void {
    this.#timer?.abort.abort(replaced)
    this.#timer = undefined
  }

  #set(atMs: number): void {
    this[Symbol.dispose]()
    const timer = { atMs, abort: new AbortController() }
    this.#timer = timer
    const goOff = () => {
      if (this.#timer !== timer) return
      this.#timer = undefined
      this.ring()
    }
    this.#clock.sleep(atMs - this.#clock.monotonic(), timer.abort.signal).then(goOff, (error: unknown) => {
      if (this.#timer === timer) this.#waiting?.reject(error)
    })
  }
}
