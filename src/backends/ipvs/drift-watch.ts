/**
 * Notices what others do to our state: a flush, a deleted address, an edited chain. Rules have a cheap token that tells
 * whether anything changed. The rest has none, so it is read and compared now and then.
 */
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { Programming } from '../../core/sync/programming.ts'
import { noSuspicion, watchForDrift } from '../../core/sync/watch-for-drift.ts'
import type { Watched } from '../../core/sync/watch-for-drift.ts'
import type { ChangeDetector } from '../../dataplane/iptables/change-detector.ts'
import { WatchedRules } from '../../dataplane/iptables/language/drift-watch.ts'
import type { Family } from '../../net/ip.ts'
import { findDrift, findRuleDrift } from './find-drift.ts'
import type { Expected } from './find-drift.ts'
import { readKernel } from './kernel.ts'
import type { Kernel } from './kernel.ts'

export interface DriftWatchOptions {
  readonly kernel: Kernel
  readonly family: Family
  readonly openDetector: (signal: AbortSignal) => Promise<ChangeDetector>
  readonly clock: Clock
  readonly log: Logger
}

export class DriftWatch {
  readonly #options: DriftWatchOptions

  constructor(options: DriftWatchOptions) {
    this.#options = options
  }

  async run(
    programming: Pick<Programming<unknown, Expected>, 'inTurn' | 'written' | 'isLost' | 'syncCount'>,
    onFound: (found: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { kernel, family, openDetector, clock, log } = this.#options
    await using detector = await openDetector(signal)
    const rules = new WatchedRules({ iptables: kernel.iptables, findDrift: findRuleDrift }, detector)
    const state: Watched<Expected, string> = {
      isExact: false,
      suspect: () => Promise.resolve(noSuspicion),
      compare: async (plan) => findDrift(plan, await readKernel(kernel, family, signal)),
    }
    await watchForDrift(
      { parts: [rules, state], lost: 'the last sync failed', onFound, clock, log },
      programming,
      signal,
    )
  }
}
