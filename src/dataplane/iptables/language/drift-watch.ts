/**
 * Notices what others do to our rules: a flush, a deleted jump, an edited chain. A cheap token tells whether anything
 * changed at all; only then are the tables read and compared with what we wrote.
 */
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'
import { lookNowAndThen } from '../../../core/sync/look-now-and-then.ts'
import type { Programming } from '../../../core/sync/programming.ts'
import type { ChangeDetector } from '../change-detector.ts'
import type { Iptables } from '../iptables.ts'
import { readKernelState } from './kernel-state.ts'
import type { KernelState } from './kernel-state.ts'

/** `Plan` is what the mode remembers of its rules. */
export interface DriftWatchOptions<Plan> {
  readonly iptables: Iptables
  /** Names the first thing that differs. */
  readonly findDrift: (written: Plan, state: KernelState) => Promise<string | undefined>
  readonly openDetector: (signal: AbortSignal) => Promise<ChangeDetector>
  readonly clock: Clock
  readonly log: Logger
}

type Look<Plan> = Pick<Programming<unknown, Plan>, 'inTurn' | 'written' | 'isLost'>

/** Drift is to be noticed within five seconds. */
const lookEveryMs = 2_000
/**
 * A token can miss a rule that was put in the place of another of equal length; the tables themselves do not. So they
 * are compared anyway, as often as it costs a fiftieth of a CPU, within these bounds.
 */
const compareAnyway = { timesCost: 50, leastMs: 4_000, mostMs: 60_000 }

/** Others change their own rules all the time, and each change moves the token: even then this bounds our share. */
const timesCostOnChange = 4

export class DriftWatch<Plan> {
  readonly #options: DriftWatchOptions<Plan>
  /** The last comparison that found nothing, and when it must be repeated whatever the token says. */
  #verified: { readonly token: string; readonly untilMs: number } | undefined
  #notBeforeMs = -Infinity
  /** Undefined unless it runs. */
  #detector: ChangeDetector | undefined

  constructor(options: DriftWatchOptions<Plan>) {
    this.#options = options
  }

  async run(look: Look<Plan>, onDrift: (found: string) => void, signal: AbortSignal): Promise<void> {
    const { openDetector, clock, log } = this.#options
    await using detector = await openDetector(signal)
    this.#detector = detector
    await lookNowAndThen(
      {
        everyMs: lookEveryMs,
        look: () => look.inTurn(() => this.#look(detector, look, signal)),
        onFound: onDrift,
        trouble: 'cannot compare the rules with the kernel',
        clock,
        log,
      },
      signal,
    )
    this.#detector = undefined
  }

  /**
   * Does a small write of ours. If nothing had changed before it, what was verified stays so: to read and compare
   * everything again would make one endpoint cost as much as there are Services. Who writes in the same moment is found
   * out by the next comparison that is due anyway.
   */
  async ownWrite(write: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const detector = this.#detector
    if (detector === undefined || !detector.isCheap) return write()
    const before = await detector.token(signal).catch(() => undefined)
    await write()
    const after = await detector.token(signal).catch(() => undefined)
    const verified = this.#verified
    if (after !== undefined && verified !== undefined && verified.token === before)
      this.#verified = { ...verified, token: after }
  }

  async #look(detector: ChangeDetector, look: Look<Plan>, signal: AbortSignal): Promise<string | undefined> {
    const { iptables, findDrift, clock } = this.#options
    const written = look.written
    if (written === undefined) return look.isLost ? 'the last sync failed' : undefined
    const token = await detector.token(signal)
    const startedAt = clock.monotonic()
    if (token === this.#verified?.token && startedAt < this.#verified.untilMs) return undefined
    if (startedAt < this.#notBeforeMs) return undefined
    const found = await findDrift(written, await readKernelState(iptables, signal))
    const now = clock.monotonic()
    const costMs = now - startedAt
    const { timesCost, leastMs, mostMs } = compareAnyway
    const pauseMs = Math.min(mostMs, Math.max(leastMs, timesCost * costMs))
    this.#verified = found === undefined ? { token, untilMs: now + pauseMs } : undefined
    this.#notBeforeMs = now + timesCostOnChange * costMs
    return found
  }
}
