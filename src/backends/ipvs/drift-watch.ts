/**
 * Notices what others do to our state: a flush, a deleted address, an edited chain. Rules have a cheap token that tells
 * whether anything changed. The rest has none, so it is read and compared, at a pace that follows what that costs.
 */
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { lookNowAndThen } from '../../core/sync/look-now-and-then.ts'
import type { Programming } from '../../core/sync/programming.ts'
import type { ChangeDetector } from '../../dataplane/iptables/change-detector.ts'
import type { Family } from '../../net/ip.ts'
import { readKernelState } from '../../dataplane/iptables/language/kernel-state.ts'
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

/** What was written is another object after each sync. */
type Look = Pick<Programming<unknown, Expected>, 'inTurn' | 'written' | 'isLost'>

/** Drift is to be noticed within five seconds. */
const lookEveryMs = 2_000
/** A look may cost a fiftieth of a CPU, within these bounds. */
const pace = { timesCost: 50, leastMs: 4_000, mostMs: 300_000 }
/** A token can miss an edit; the rules themselves do not. So they are compared now and then anyway. */
const rulesAnywayMs = 60_000
/** With syncs all the time a read is never of one state; then syncs wait for one. */
const mostDisturbedReads = 3

export class DriftWatch {
  readonly #options: DriftWatchOptions
  #disturbedReads = 0
  #nextStateMs = -Infinity
  #rules: { readonly token: string; readonly untilMs: number } | undefined
  #nextRulesMs = -Infinity

  constructor(options: DriftWatchOptions) {
    this.#options = options
  }

  async run(look: Look, onDrift: (found: string) => void, signal: AbortSignal): Promise<void> {
    const { openDetector, clock, log } = this.#options
    await using detector = await openDetector(signal)
    await lookNowAndThen(
      {
        everyMs: lookEveryMs,
        look: () => this.#look(detector, look, signal),
        onFound: onDrift,
        trouble: 'cannot compare the kernel with what was programmed',
        clock,
        log,
      },
      signal,
    )
  }

  async #look(detector: ChangeDetector, look: Look, signal: AbortSignal): Promise<string | undefined> {
    return (await this.#lookAtRules(detector, look, signal)) ?? (await this.#lookAtState(look, signal))
  }

  async #lookAtRules(detector: ChangeDetector, look: Look, signal: AbortSignal): Promise<string | undefined> {
    const { kernel, clock } = this.#options
    return look.inTurn(async () => {
      const expected = look.written
      if (expected === undefined) return look.isLost ? 'the last sync failed' : undefined
      const token = await detector.token(signal)
      const startedAt = clock.monotonic()
      if (token === this.#rules?.token && startedAt < this.#rules.untilMs) return undefined
      if (startedAt < this.#nextRulesMs) return undefined
      const found = findRuleDrift(expected, await readKernelState(kernel.iptables, signal))
      const now = clock.monotonic()
      this.#nextRulesMs = now + pace.timesCost * (now - startedAt)
      this.#rules = found === undefined ? { token, untilMs: now + rulesAnywayMs } : undefined
      return found
    })
  }

  async #lookAtState(look: Look, signal: AbortSignal): Promise<string | undefined> {
    const { kernel, family, clock } = this.#options
    const expected = look.written
    const startedAt = clock.monotonic()
    if (expected === undefined || startedAt < this.#nextStateMs) return undefined
    const read = () => readKernel(kernel, family, signal)
    const mustNotBeDisturbed = this.#disturbedReads >= mostDisturbedReads
    // Reading takes seconds on a very large node, and a sync need not wait for it.
    const early = mustNotBeDisturbed ? undefined : await read()
    const found = await look.inTurn(async () => {
      const now = look.written
      if (now === undefined) return undefined
      if (early !== undefined && now !== expected) return 'disturbed' as const
      return { drift: await findDrift(now, early ?? (await read())) }
    })
    if (found === 'disturbed') {
      this.#disturbedReads++
      return undefined
    }
    this.#disturbedReads = 0
    const now = clock.monotonic()
    this.#nextStateMs = now + pauseFor(now - startedAt)
    return found?.drift
  }
}

function pauseFor(costMs: number): number {
  return Math.min(pace.mostMs, Math.max(pace.leastMs, pace.timesCost * costMs))
}
