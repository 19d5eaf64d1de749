import type { Clock } from '../../core/clock.ts'
import { KubeError } from './kube-error.ts'

export interface WatchdogOptions {
  readonly clock: Clock
  readonly limitMs: number
  /** The error is this and "for N s", e.g. `GET /api/v1/services: no answer`. */
  readonly message: string
  /** Its abort is passed on. */
  readonly parent: AbortSignal
}

/** Aborts its signal, with a `timeout` error, when `feed` is not called for the limit. Dispose it to stop its timer. */
export class Watchdog implements Disposable {
  readonly #options: WatchdogOptions
  readonly #outcome = new AbortController()
  readonly #onParentAbort: () => void
  #limitMs: number
  #fedAtMs: number
  #nap = new AbortController()
  #isHome = false

  constructor(options: WatchdogOptions) {
    this.#options = options
    this.#limitMs = options.limitMs
    this.#fedAtMs = options.clock.monotonic()
    this.#onParentAbort = () => this.#outcome.abort(options.parent.reason)
    if (options.parent.aborted) this.#onParentAbort()
    else options.parent.addEventListener('abort', this.#onParentAbort, { once: true })
    void this.#guard()
  }

  get signal(): AbortSignal {
    return this.#outcome.signal
  }

  feed(): void {
    this.#fedAtMs = this.#options.clock.monotonic()
  }

  /** Changes the limit, counting from now. `Infinity` lets it sleep. */
  setLimit(limitMs: number): void {
    this.feed()
    if (limitMs === this.#limitMs) return
    this.#limitMs = limitMs
    this.#nap.abort()
  }

  [Symbol.dispose](): void {
    this.#options.parent.removeEventListener('abort', this.#onParentAbort)
    this.#isHome = true
    this.#nap.abort()
  }

  async #guard(): Promise<void> {
    const { clock, message } = this.#options
    while (!this.#isHome && !this.signal.aborted) {
      const restMs = this.#fedAtMs + this.#limitMs - clock.monotonic()
      if (restMs <= 0) {
        this.#outcome.abort(new KubeError('timeout', `${message} for ${this.#limitMs / 1000} s`))
        return
      }
      this.#nap = new AbortController()
      // A woken nap is no news: the loop looks again.
      await clock.sleep(Math.min(restMs, longestTimerMs), this.#nap.signal).catch(() => {})
    }
  }
}

/** setTimeout counts in 32 bits, and fires at once beyond that. */
const longestTimerMs = 2 ** 31 - 1
