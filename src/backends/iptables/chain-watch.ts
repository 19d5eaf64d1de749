/**
 * Notices what others do to our rules: a flush, a deleted jump, an edited chain. The kernel tells which chains were
 * touched, or at least that something was; only then are they read and compared with what we wrote.
 */
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { Programming } from '../../core/sync/programming.ts'
import { noSuspicion, vagueSuspicion, watchForDrift } from '../../core/sync/watch-for-drift.ts'
import type { Suspicion, Watched } from '../../core/sync/watch-for-drift.ts'
import type { ChainPath, Iptables, Variant } from '../../dataplane/iptables/iptables.ts'
import type { ChainChanges } from '../../dataplane/iptables/chain-changes.ts'
import { totalDamage } from './damage.ts'
import type { Damage } from './damage.ts'
import { findDamage } from './find-damage.ts'
import type { IptablesPlan } from './plan.ts'
import { readChains, readRuleset } from './ruleset.ts'
import { hasUnknownChain, SuspectChains, topPaths } from './suspect-chains.ts'

export interface ChainWatchOptions {
  readonly iptables: Iptables
  readonly openChanges: (signal: AbortSignal) => Promise<ChainChanges>
  readonly clock: Clock
  readonly log: Logger
}

/** Chains that are read one by one, rather than all tables at once. The legacy tool reads a whole table for any of them. */
const mostSingleReads: Readonly<Record<Variant, number>> = { nf_tables: 40, legacy: 2 }
/** When this many of the chains that all traffic passes are damaged, the others are not worth reading. */
const signsOfFlush = 3

export class ChainWatch {
  readonly #options: ChainWatchOptions
  readonly #suspects = new SuspectChains()
  /** Undefined unless it runs. */
  #changes: ChainChanges | undefined

  constructor(options: ChainWatchOptions) {
    this.#options = options
  }

  async run(
    programming: Pick<Programming<unknown, IptablesPlan, Damage>, 'inTurn' | 'written' | 'isLost' | 'syncCount'>,
    onFound: (damage: Damage) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { openChanges, clock, log } = this.#options
    await using changes = await openChanges(signal)
    this.#changes = changes
    const chains: Watched<IptablesPlan, Damage> = {
      isExact: changes.isExact,
      suspect: (written) => this.#suspect(changes, written, signal),
      compare: (written) => this.#compare(written, signal),
    }
    const lost = totalDamage('the last sync failed')
    await watchForDrift({ parts: [chains], lost, onFound, clock, log }, programming, signal)
    this.#changes = undefined
  }

  /**
   * Does a small write of ours, which is no reason to compare anything: that would make one endpoint cost as much as
   * there are Services.
   */
  async ownEdit(touched: ReadonlySet<ChainPath>, write: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const changes = this.#changes
    if (changes === undefined || !changes.isCheap) return write()
    this.#suspects.add(await changes.take(signal).catch(() => 'any' as const))
    await write()
    this.#suspects.add(await changes.takeAfterOwnWrite(touched, signal).catch(() => 'any' as const))
  }

  /** Writes everything; afterwards everything is compared. */
  async ownRewrite(write: () => Promise<void>): Promise<void> {
    this.#suspects.addAll()
    await (this.#changes === undefined ? write() : this.#changes.withoutListening(write))
  }

  /** Looks at what was touched, or, when nobody knows what was, at the few chains that all traffic passes. */
  async #suspect(changes: ChainChanges, written: IptablesPlan, signal: AbortSignal): Promise<Suspicion<Damage>> {
    const { iptables } = this.#options
    const suspects = this.#suspects
    const hasChanged = suspects.add(await changes.take(signal))
    if (suspects.isEmpty) return noSuspicion
    const { variant } = await iptables.features(signal)
    const areFew = !suspects.areAll && suspects.paths.size <= mostSingleReads[variant]
    if (!areFew && (!hasChanged || variant === 'legacy')) return vagueSuspicion
    const paths = areFew ? new Set(suspects.paths) : topPaths
    const damage = await findDamage(written, await readChains(iptables, paths, signal), paths)
    if (damage !== undefined) {
      const finding = areFew ? damage : { ...damage, isTotal: damage.chains.size >= signsOfFlush }
      return { kind: 'certain', finding }
    }
    if (!areFew) return vagueSuspicion
    if (!hasUnknownChain(paths, written)) {
      suspects.clear()
      return noSuspicion
    }
    suspects.addAll()
    return vagueSuspicion
  }

  async #compare(written: IptablesPlan, signal: AbortSignal): Promise<Damage | undefined> {
    // What comes in from now on is for the next time.
    this.#suspects.clear()
    return findDamage(written, await readRuleset(this.#options.iptables, signal))
  }
}
