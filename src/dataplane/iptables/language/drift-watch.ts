/**
 * Watches the rules of a mode as a whole. A cheap token tells whether anybody changed any; only then are the tables read
 * and compared with what we wrote.
 */
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'
import type { Programming } from '../../../core/sync/programming.ts'
import { noSuspicion, vagueSuspicion, watchForDrift } from '../../../core/sync/watch-for-drift.ts'
import type { Suspicion, Watched } from '../../../core/sync/watch-for-drift.ts'
import type { ChangeDetector } from '../change-detector.ts'
import type { Iptables } from '../iptables.ts'
import { readKernelState } from './kernel-state.ts'
import type { KernelState } from './kernel-state.ts'

export interface WatchedRulesOptions<Plan> {
  readonly iptables: Iptables
  /** Names the first thing that differs. */
  readonly findDrift: (written: Plan, state: KernelState) => Promise<string | undefined> | string | undefined
}

/** The rules, by the token of a detector. */
export class WatchedRules<Plan> implements Watched<Plan, string> {
  readonly isExact = false
  readonly #options: WatchedRulesOptions<Plan>
  readonly #detector: ChangeDetector
  #token: string | undefined

  constructor(options: WatchedRulesOptions<Plan>, detector: ChangeDetector) {
    this.#options = options
    this.#detector = detector
  }

  async suspect(_plan: Plan, signal: AbortSignal): Promise<Suspicion<string>> {
    const before = this.#token
    this.#token = await this.#detector.token(signal)
    return this.#token === before ? noSuspicion : vagueSuspicion
  }

  async compare(plan: Plan, signal: AbortSignal): Promise<string | undefined> {
    return this.#options.findDrift(plan, await readKernelState(this.#options.iptables, signal))
  }

  /**
   * Does a small write of ours, which is no reason to compare anything: that would make one endpoint cost as much as
   * there are Services. Who writes in the same moment is found out by the next comparison that is due anyway.
   */
  async ownWrite(write: () => Promise<void>, signal: AbortSignal): Promise<void> {
    if (!this.#detector.isCheap) return write()
    const before = await this.#detector.token(signal).catch(() => undefined)
    await write()
    const after = await this.#detector.token(signal).catch(() => undefined)
    if (after !== undefined && this.#token === before) this.#token = after
  }
}

export interface DriftWatchOptions<Plan> extends WatchedRulesOptions<Plan> {
  readonly openDetector: (signal: AbortSignal) => Promise<ChangeDetector>
  readonly clock: Clock
  readonly log: Logger
}

/** Of a mode that has nothing to watch but rules. */
export class DriftWatch<Plan> {
  readonly #options: DriftWatchOptions<Plan>
  /** Undefined unless it runs. */
  #rules: WatchedRules<Plan> | undefined

  constructor(options: DriftWatchOptions<Plan>) {
    this.#options = options
  }

  async run(
    programming: Pick<Programming<unknown, Plan>, 'inTurn' | 'written' | 'isLost' | 'syncCount'>,
    onFound: (found: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { openDetector, clock, log } = this.#options
    await using detector = await openDetector(signal)
    this.#rules = new WatchedRules(this.#options, detector)
    const watch = { parts: [this.#rules], lost: 'the last sync failed', onFound, clock, log }
    await watchForDrift(watch, programming, signal)
    this.#rules = undefined
  }

  async ownWrite(write: () => Promise<void>, signal: AbortSignal): Promise<void> {
    await (this.#rules === undefined ? write() : this.#rules.ownWrite(write, signal))
  }
}
