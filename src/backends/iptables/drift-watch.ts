/**
 * Notices what others do to our rules: a flush, a deleted jump, an edited chain. A cheap token tells whether anything
 * changed at all; only then are the tables read and compared with what we wrote.
 */
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { Iptables } from '../../dataplane/iptables/iptables.ts'
import { readKernelState } from './kernel-state.ts'
import { findDrift } from './find-drift.ts'
import type { Written } from './written.ts'

export interface ChangeDetector {
  /** Differs from the last one whenever the tables may have changed since. */
  token(signal: AbortSignal): Promise<string>
}

export interface DriftWatchOptions {
  readonly iptables: Iptables
  readonly detector: ChangeDetector
  readonly clock: Clock
  readonly log: Logger
}

export interface Look {
  /** Runs the work while no sync does. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
  /** What the kernel should hold; undefined while nobody knows. */
  written(): Written | undefined
  onDrift(found: string): void
}

/** Drift is to be noticed within five seconds. */
const lookEveryMs = 2_000

export class DriftWatch {
  readonly #options: DriftWatchOptions
  #verifiedToken: string | undefined

  constructor(options: DriftWatchOptions) {
    this.#options = options
  }

  async run(look: Look, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    while (!signal.aborted) {
      try {
        const found = await look.inTurn(() => this.#look(look.written(), signal))
        if (found !== undefined) look.onDrift(found)
      } catch (error) {
        if (!signal.aborted) log.warn('rules cannot be compared with the kernel', { error })
      }
      await clock.sleep(lookEveryMs, signal).catch(() => {})
    }
  }

  async #look(written: Written | undefined, signal: AbortSignal): Promise<string | undefined> {
    const { detector, iptables } = this.#options
    if (written === undefined) return undefined
    const token = await detector.token(signal)
    if (token === this.#verifiedToken) return undefined
    const found = await findDrift(written, await readKernelState(iptables, signal))
    if (found === undefined) this.#verifiedToken = token
    return found
  }
}
