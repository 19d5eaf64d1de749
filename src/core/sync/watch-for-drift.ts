/**
 * Notices what others do to the data plane. Whether they may have done something is asked often, because it costs next to
 * nothing; to read and compare everything costs more, the more there is, so that is done at a pace that follows its cost.
 */
import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import { lookNowAndThen } from './look-now-and-then.ts'
import type { Programming } from './programming.ts'

/** Something that others can change, and that tells of it apart from the rest. */
export interface Watched<Plan, Finding> {
  /** `suspect` misses hardly anything. */
  readonly isExact: boolean
  /**
   * The next comparison begins after so long, whatever the last one has cost; after one that failed, at the next look.
   * Undefined: the cost decides.
   */
  readonly mostPauseMs?: number | undefined
  /** Asked at every look, and never while a sync writes. */
  suspect(plan: Plan, signal: AbortSignal): Promise<Suspicion<Finding>>
  /** Reads all of it. That may take seconds, and a sync does not wait for it. Undefined: all is as planned. */
  compare(plan: Plan, signal: AbortSignal): Promise<Finding | undefined>
}

export type Suspicion<Finding> =
  | { readonly kind: 'none' }
  /** Something may have changed; only a comparison can tell. */
  | { readonly kind: 'vague' }
  | { readonly kind: 'certain'; readonly finding: Finding }

export const noSuspicion = { kind: 'none' } as const
export const vagueSuspicion = { kind: 'vague' } as const

/** Comparisons on mere suspicion: others may change their own things all the time. */
const timesCostOnSuspicion = 4
/** Comparisons without any suspicion, because something was missed, or happened while we wrote. */
export const compareAnyway = {
  inexact: { timesCost: 50, leastMs: 4_000, mostMs: 300_000 },
  exact: { timesCost: 200, leastMs: 60_000, mostMs: 600_000 },
}
/** With syncs all the time, what is read is never of one state; then a sync has to wait. */
const mostDisturbed = 3

export interface DriftWatchOptions<Plan, Finding> {
  readonly parts: readonly Watched<Plan, Finding>[]
  /** What is found when a sync has failed: nobody knows what is there. */
  readonly lost: Finding
  /** How often it is told, where a sync fails fast and must work soon again; undefined: less and less often. */
  readonly lostPauseMs?: number | undefined
  readonly onFound: (finding: Finding) => void
  readonly clock: Clock
  readonly log: Logger
}

type Written<Plan> = Pick<Programming<unknown, Plan>, 'inTurn' | 'written' | 'isLost' | 'syncCount'>

/** Until the signal aborts. */
export async function watchForDrift<Plan, Finding>(
  { parts, lost, lostPauseMs, onFound, clock, log }: DriftWatchOptions<Plan, Finding>,
  programming: Written<Plan>,
  signal: AbortSignal,
): Promise<void> {
  const looks = parts.map((part) => new PacedComparison(part, programming, clock))
  const look = async () => {
    // A sync that is under way has not failed.
    if (await programming.inTurn(async () => programming.isLost)) return lost
    for (const each of looks) {
      const finding = await each.look(signal)
      if (finding !== undefined) return finding
    }
    return undefined
  }
  const trouble = 'cannot compare the data plane with what was programmed'
  const pauseAfter = (finding: Finding) => (finding === lost ? lostPauseMs : undefined)
  await lookNowAndThen({ look, onFound, pauseAfter, trouble, clock, log }, signal)
}

class PacedComparison<Plan, Finding> {
  readonly #part: Watched<Plan, Finding>
  readonly #programming: Written<Plan>
  readonly #clock: Clock
  /** Stays so until a comparison has found nothing. */
  #isSuspected = false
  #notBeforeMs = -Infinity
  #anywayAtMs = -Infinity
  /** Comparisons in a row that a sync made worthless. */
  #disturbed = 0

  constructor(part: Watched<Plan, Finding>, programming: Written<Plan>, clock: Clock) {
    this.#part = part
    this.#programming = programming
    this.#clock = clock
  }

  async look(signal: AbortSignal): Promise<Finding | undefined> {
    const certain = await this.#programming.inTurn(() => this.#suspect(signal))
    if (certain !== undefined) return certain
    if (this.#clock.monotonic() < (this.#isSuspected ? this.#notBeforeMs : this.#anywayAtMs)) return undefined
    const compare = () => this.#compare(signal)
    return this.#disturbed < mostDisturbed ? compare() : this.#programming.inTurn(compare)
  }

  async #suspect(signal: AbortSignal): Promise<Finding | undefined> {
    const plan = this.#programming.written
    if (plan === undefined) return undefined
    const suspicion = await this.#part.suspect(plan, signal)
    if (suspicion.kind === 'certain') return suspicion.finding
    this.#isSuspected ||= suspicion.kind === 'vague'
    return undefined
  }

  async #compare(signal: AbortSignal): Promise<Finding | undefined> {
    const { written: plan, syncCount } = this.#programming
    if (plan === undefined) return undefined
    const startedAt = this.#clock.monotonic()
    this.#isSuspected = true
    let hasFailed = true
    try {
      const finding = await this.#part.compare(plan, signal)
      hasFailed = false
      const isDisturbed = this.#programming.syncCount !== syncCount || this.#programming.written !== plan
      this.#disturbed = isDisturbed ? this.#disturbed + 1 : 0
      if (isDisturbed) return undefined
      this.#isSuspected = finding !== undefined
      return finding
    } finally {
      this.#pause(this.#clock.monotonic() - startedAt, hasFailed)
    }
  }

  #pause(costMs: number, hasFailed: boolean): void {
    const now = this.#clock.monotonic()
    const { timesCost, leastMs, mostMs } = compareAnyway[this.#part.isExact ? 'exact' : 'inexact']
    const { mostPauseMs = Infinity } = this.#part
    const isUrgent = hasFailed && mostPauseMs < Infinity
    this.#notBeforeMs = isUrgent ? now : now + Math.min(mostPauseMs, timesCostOnSuspicion * costMs)
    this.#anywayAtMs = now + Math.min(mostMs, mostPauseMs, Math.max(leastMs, timesCost * costMs))
  }
}
