/** Writes the state to disk after changes, with a pause between writes. */
import type { PodWeights } from '../../core/care/pod-weights.ts'
import type { Catalog } from '../../core/catalog.ts'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { saveState } from './saved-state.ts'

export interface StateKeeperOptions {
  readonly folder: string
  readonly catalog: Catalog
  /** Undefined: labels of pods are not read. */
  readonly pods?: Pick<PodWeights, 'all' | 'subscribe'> | undefined
  /** The Catalog was filled from the file, so nothing is written until something changes. */
  readonly isRestored: boolean
  readonly clock: Clock
  readonly log: Logger
}

/** A power cut loses at most this much; a busy cluster causes one write in this time. */
const pauseMs = 10_000

export class StateKeeper {
  readonly #options: StateKeeperOptions
  #hasChanged: boolean

  constructor(options: StateKeeperOptions) {
    this.#options = options
    this.#hasChanged = !options.isRestored
    options.pods?.subscribe(() => (this.#hasChanged = true))
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
    const { folder, catalog, pods, clock, log } = this.#options
    // Only complete lists are kept, whether they came from a live source or from the file.
    if (!this.#hasChanged || !catalog.isInitialised) return
    this.#hasChanged = false
    try {
      await saveState(folder, catalog, clock.now(), pods?.all())
    } catch (error) {
      this.#hasChanged = true
      log.warn('the state for an offline start could not be saved', { folder, err: error })
    }
  }
}
