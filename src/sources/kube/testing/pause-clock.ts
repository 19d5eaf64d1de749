import type { Clock } from '../../../core/clock.ts'
import { eventually } from './eventually.ts'

/** A clock for code that sleeps between attempts, one sleep at a time. A test ends each sleep and learns its length. */
export class PauseClock implements Clock {
  #elapsedMs = 0
  #pause: { readonly ms: number; end(): void } | undefined

  now(): number {
    return Date.UTC(2026, 0, 1) + this.#elapsedMs
  }

  monotonic(): number {
    return this.#elapsedMs
  }

  get isPaused(): boolean {
    return this.#pause !== undefined
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#pause = undefined
        reject(signal.reason as Error)
      }
      if (signal.aborted) return onAbort()
      signal.addEventListener('abort', onAbort, { once: true })
      this.#pause = {
        ms,
        end: () => {
          signal.removeEventListener('abort', onAbort)
          resolve()
        },
      }
    })
  }

  /** Waits for the next sleep, lets it pass, and returns how long it was. */
  async pass(): Promise<number> {
    await eventually('a pause', () => this.#pause !== undefined)
    const pause = this.#pause
    this.#pause = undefined
    this.#elapsedMs += pause?.ms ?? 0
    pause?.end()
    return pause?.ms ?? 0
  }

  /** For time that passes between sleeps. */
  advance(ms: number): void {
    this.#elapsedMs += ms
  }
}
