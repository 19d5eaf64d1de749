/** Writes the state to disk when it has changed, but not more often than it is worth. */
import type { Catalog } from '../../core/catalog.ts'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { saveState } from './saved-state.ts'

export interface StateKeeperOptions {
  readonly folder: string
  readonly catalog: Catalog
  /** Whether the Catalog holds complete lists from a live source; nothing else is worth keeping. */
  readonly isLive: () => boolean
  readonly clock: Clock
  readonly log: Logger
}

/** A power cut costs at most these many seconds of changes; a busy cluster costs one write in as many. */
const pauseMs = 10_000

export class StateKeeper {
  readonly #options: StateKeeperOptions
  #hasChanged = true

  constructor(options: StateKeeperOptions) {
    this.#options = options
    options.catalog.subscribe({ changed: () => (this.#hasChanged = true), listed: () => (this.#hasChanged = true) })
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    while (!signal.aborted) {
      await this.saveIfChanged()
      await clock.sleep(pauseMs, signal).catch(() => {})
    }
    await this.saveIfChanged()
  }

  async saveIfChanged(): Promise<void> {
    const { folder, catalog, isLive, clock, log } = this.#options
    if (!this.#hasChanged || !isLive()) return
    this.#hasChanged = false
    try {
      await saveState(folder, catalog, clock.now())
    } catch (error) {
      this.#hasChanged = true
      log.warn('the state for an offline start could not be saved', { folder, err: error })
    }
  }
}
