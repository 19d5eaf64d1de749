/**
 * Notices what others do to our rules: a flush, a deleted jump, an edited chain. The kernel tells which chains were
 * touched, or at least that something was; only then are they read and compared with what we wrote.
 */
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { lookNowAndThen } from '../../core/sync/look-now-and-then.ts'
import type { Programming } from '../../core/sync/programming.ts'
import type { ChainPath, Iptables, Variant } from '../../dataplane/iptables/iptables.ts'
import type { TableNews } from '../../dataplane/iptables/table-news.ts'
import { totalDamage } from './damage.ts'
import type { Damage } from './damage.ts'
import { findDamage } from './find-damage.ts'
import { readChains, readRuleset } from './ruleset.ts'
import { hasUnknownChain, Suspects, topPaths } from './suspects.ts'
import type { Written } from './written.ts'

export interface ChainWatchOptions {
  readonly iptables: Iptables
  readonly openNews: (signal: AbortSignal) => Promise<TableNews>
  readonly clock: Clock
  readonly log: Logger
}

type Look = Pick<Programming<unknown, Written, Damage>, 'inTurn' | 'written' | 'isLost' | 'syncCount'>

/** Drift is to be noticed within five seconds. */
export const lookEveryMs = 1_000
/**
 * News can miss something: a token, a rule that was put in the place of another of equal length; those who listen, a
 * chain with a new name, or what others do while we write. The tables themselves do not. So they are compared anyway,
 * as often as it costs a fraction of a CPU, within these bounds.
 */
export const compareAnyway = {
  withTokens: { timesCost: 50, leastMs: 4_000, mostMs: 60_000 },
  withNames: { timesCost: 200, leastMs: 60_000, mostMs: 600_000 },
}
/** Others change their own rules all the time, and the news may not say whose: even then this bounds our share. */
const timesCostOnChange = 4
/** Chains that are read one by one, rather than all tables at once. The legacy tool reads a whole table for any of them. */
const mostSingleReads: Readonly<Record<Variant, number>> = { nf_tables: 40, legacy: 2 }
/** When this many of the chains that all traffic passes are damaged, the others are not worth reading. */
const signsOfFlush = 3
/** With syncs all the time, what was read is never of one state; then a sync has to wait. */
const mostDisturbed = 3

export class ChainWatch {
  readonly #options: ChainWatchOptions
  readonly #suspects = new Suspects()
  /** Undefined unless it runs. */
  #news: TableNews | undefined
  /** When everything is compared again whatever the news. */
  #anywayAtMs = -Infinity
  /** Everything is not compared again before. */
  #notBeforeMs = -Infinity
  /** Comparisons in a row that a sync made worthless. */
  #disturbed = 0

  constructor(options: ChainWatchOptions) {
    this.#options = options
  }

  async run(look: Look, onDamage: (damage: Damage) => void, signal: AbortSignal): Promise<void> {
    const { openNews, clock, log } = this.#options
    await using news = await openNews(signal)
    this.#news = news
    await lookNowAndThen(
      {
        everyMs: lookEveryMs,
        look: () => this.#look(news, look, signal),
        onFound: onDamage,
        trouble: 'cannot compare the rules with the kernel',
        clock,
        log,
      },
      signal,
    )
    this.#news = undefined
  }

  /**
   * Does a small write of ours, which is no reason to compare anything: that would make one endpoint cost as much as
   * there are Services.
   */
  async ownEdit(touched: ReadonlySet<ChainPath>, write: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const news = this.#news
    if (news === undefined || !news.isCheap) return write()
    this.#suspects.add(await news.take(signal).catch(() => 'any' as const))
    await write()
    this.#suspects.add(await news.takeAfterOwn(touched, signal).catch(() => 'any' as const))
  }

  /** Writes everything; afterwards everything is compared. */
  async ownRewrite(write: () => Promise<void>): Promise<void> {
    this.#suspects.addEveryone()
    await (this.#news === undefined ? write() : this.#news.deaf(write))
  }

  async #look(news: TableNews, look: Look, signal: AbortSignal): Promise<Damage | undefined> {
    const damage = await look.inTurn(() => this.#lookAtSuspects(news, look, signal))
    if (damage !== undefined || look.written === undefined) return damage
    const now = this.#options.clock.monotonic()
    const { isEmpty, isEveryone } = this.#suspects
    if (isEmpty && now < this.#anywayAtMs) return undefined
    if (isEveryone && now < this.#notBeforeMs) return undefined
    const compare = () => this.#compareAll(news, look, signal)
    return this.#disturbed < mostDisturbed ? compare() : look.inTurn(compare)
  }

  /** Looks at what was touched, or, when nobody knows what was, at the few chains that all traffic passes. */
  async #lookAtSuspects(news: TableNews, look: Look, signal: AbortSignal): Promise<Damage | undefined> {
    const { iptables } = this.#options
    const written = look.written
    if (written === undefined) return look.isLost ? totalDamage('the last sync failed') : undefined
    const suspects = this.#suspects
    const isNews = suspects.add(await news.take(signal))
    const { variant } = await iptables.features(signal)
    const areFew = !suspects.isEveryone && suspects.chains.size <= mostSingleReads[variant]
    if (suspects.isEmpty || (!areFew && (!isNews || variant === 'legacy'))) return undefined
    const paths = areFew ? new Set(suspects.chains) : topPaths
    const damage = await findDamage(written, await readChains(iptables, paths, signal), paths)
    if (!areFew) return damage && { ...damage, isTotal: damage.chains.size >= signsOfFlush }
    if (damage !== undefined) return damage
    if (hasUnknownChain(paths, written)) suspects.addEveryone()
    else suspects.clear()
    return undefined
  }

  async #compareAll(news: TableNews, look: Look, signal: AbortSignal): Promise<Damage | undefined> {
    const { iptables, clock } = this.#options
    const written = look.written
    if (written === undefined) return undefined
    const syncCount = look.syncCount
    const startedAt = clock.monotonic()
    // What comes in from now on is for the next time.
    this.#suspects.clear()
    let damage: Damage | undefined
    let isUndisturbed = false
    try {
      damage = await findDamage(written, await readRuleset(iptables, signal))
      isUndisturbed = look.syncCount === syncCount
    } finally {
      if (!isUndisturbed || damage !== undefined) this.#suspects.addEveryone()
      this.#disturbed = isUndisturbed ? 0 : this.#disturbed + 1
      const now = clock.monotonic()
      const costMs = now - startedAt
      const { timesCost, leastMs, mostMs } = compareAnyway[news.isExact ? 'withNames' : 'withTokens']
      this.#notBeforeMs = now + timesCostOnChange * costMs
      this.#anywayAtMs = now + Math.min(mostMs, Math.max(leastMs, timesCost * costMs))
    }
    return isUndisturbed ? damage : undefined
  }
}
