import type { Clock } from '../../core/clock.ts'
import { KubeError } from './kube-error.ts'

export interface WatchdogOptions {
  readonly clock: Clock
  readonly limitMs: number
  /** The error message is this plus "for N s", e.g. `GET /api/v1/services: no answer`. */
  readonly message: string
  /** If it aborts, so does the watchdog's signal. */
  readonly parent: AbortSignal
}

/** Aborts its signal with a `timeout` error if `feed` is not called within the limit. Dispose it to stop its timer. */
export class Watchdog implements Disposable {
  readonly #options: WatchdogOptions
  readonly #outcome = new AbortController()
  readonly #onParentAbort: () => void
  #limitMs: number
  #fedAtMs: number
  #pause = new AbortController()
  #isDisposed = false

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

  /** Counts from now. `Infinity` stops it. */
  setLimit(limitMs: number): void {
    this.feed()
    if (limitMs === this.#limitMs) return
    this.#limitMs = limitMs
    this.#pause.abort()
  }

  [Symbol.dispose](): void {
    this.#options.parent.removeEventListener('abort', this.#onParentAbort)
    this.#isDisposed = true
    this.#pause.abort()
  }

  async #guard(): Promise<void> {
    const { clock, message } = this.#options
    while (!this.#isDisposed && !this.signal.aborted) {
      const restMs = this.#fedAtMs + this.#limitMs - clock.monotonic()
      if (restMs <= 0) {
        this.#outcome.abort(new KubeError('timeout', `${message} for ${this.#limitMs / 1000} s`))
        return
      }
      this.#pause = new AbortController()
      // The sleep is also cut short when the limit changes, so the loop looks again.
      await clock.sleep(Math.min(restMs, longestTimerMs), this.#pause.signal).catch(() => {})
    }
  }
}

/** setTimeout counts in 32 bits, and fires at once beyond that. */
const longestTimerMs = 2 ** 31 - 1
