/** Calls to a driver: one at a time, in order, and each with a time limit. */
import type { Clock } from '../../core/clock.ts'
import { OneAtATime } from '../../core/sync/one-at-a-time.ts'
import { HcnError } from './hcn.ts'

/** Makes one call. `doing` completes "cannot …" in the error. */
export type MakeCall = <T>(doing: string, call: () => Promise<T>, size?: CallSize) => Promise<T>

/** `large`: HNS looks at everything it has, and may take several times as long as for one object. */
type CallSize = 'usual' | 'large'
const timesLimit: Readonly<Record<CallSize, number>> = { usual: 1, large: 4 }

export class DriverCalls {
  readonly #queue = new OneAtATime()
  readonly #clock: Clock
  readonly #timeLimitMs: number
  /** A call that took too long and has not returned. HNS is not asked anything else until it does. */
  #stuck: { readonly doing: string; readonly sinceMs: number } | undefined

  constructor(clock: Clock, timeLimitMs: number) {
    this.#clock = clock
    this.#timeLimitMs = timeLimitMs
  }

  /** Nobody else's calls come between those of one `work`. The signal counts until a call is handed over. */
  run<T>(signal: AbortSignal, work: (call: MakeCall) => Promise<T>): Promise<T> {
    return this.#queue.run(async () =>
      work((doing, call, size = 'usual') => {
        signal.throwIfAborted()
        return this.#call(doing, call, this.#timeLimitMs * timesLimit[size])
      }),
    )
  }

  async #call<T>(doing: string, call: () => Promise<T>, limitMs: number): Promise<T> {
    if (this.#stuck !== undefined)
      throw new HcnError(
        'timed-out',
        `cannot ${doing}: HNS was asked to ${this.#stuck.doing} ${this.#secondsSince(this.#stuck.sinceMs)} s ago and has ` +
          `not answered; if that lasts, restart it: Restart-Service hns`,
      )
    const [sinceMs, answered] = [this.#clock.monotonic(), new AbortController()]
    const answer = call()
    const limit = this.#clock.sleep(limitMs, answered.signal).then(
      () => 'time is up' as const,
      () => 'answered' as const,
    )
    try {
      const first = await Promise.race([answer.then((value) => ({ value })), limit])
      if (typeof first === 'object') return first.value
    } finally {
      answered.abort()
    }
    const stuck = { doing, sinceMs }
    this.#stuck = stuck
    const returned = () => {
      this.#stuck = undefined
    }
    answer.then(returned, returned)
    throw new HcnError('timed-out', `cannot ${doing}: HNS has not answered for ${this.#secondsSince(sinceMs)} s`)
  }

  #secondsSince(ms: number): number {
    return Math.round((this.#clock.monotonic() - ms) / 1000)
  }
}
