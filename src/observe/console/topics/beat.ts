/** When those who look are told what has changed: a few times a second, together. Nobody looks: no timer runs. */
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'

export const beatMs = 250

export class Beat {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #listeners = new Set<() => void>()
  #running: AbortController | undefined

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Logger }) {
    this.#clock = clock
    this.#log = log
  }

  /** Returns the function that ends it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    if (this.#running === undefined) {
      this.#running = new AbortController()
      void this.#run(this.#running.signal)
    }
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#running?.abort(ended)
      this.#running = undefined
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(beatMs, signal).catch(() => {})
      if (!signal.aborted) for (const listener of this.#listeners) this.#call(listener)
    }
  }

  /** Whoever only looks must not end the proxy. */
  #call(listener: () => void): void {
    try {
      listener()
    } catch (error) {
      this.#log.error('the console cannot tell what has changed', { error })
    }
  }
}

/** Without a reason of ours each would get an exception with a stack. */
const ended = 'ended'
