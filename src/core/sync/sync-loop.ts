/**
 * Decides when work runs: soon after it was asked for, but never too often; again after a failure; and now and then
 * even when nobody asked. One run at a time.
 */
import { Alarm } from '../alarm.ts'
import type { Clock } from '../clock.ts'

export type WorkOutcome =
  | 'succeeded'
  | 'failed'
  /** It succeeded, but something in it is to be tried again then. */
  | { readonly againAfterMs: number }

/** How long a request may wait for the cool-down after the last run. */
export type Pace =
  /** All of it. */
  | 'normal'
  /** A short part of it: traffic is being lost until this runs. */
  | 'urgent'
  /** Not at all. */
  | 'immediate'

export interface SyncPeriods {
  /** Least time from the end of a run to the start of the next. */
  readonly minMs: number
  /** From the end of a failed run to the next try. */
  readonly retryMs: number
  /** From the end of a successful run to the next one that nobody asked for. */
  readonly maxMs: number
}

export interface SyncLoopOptions {
  /** Reports a failure as its outcome; what it throws is a bug, and ends the loop. */
  work(this: void, signal: AbortSignal): Promise<WorkOutcome>
  /** As of now: `periodsChanged` says when a wait is to be worked out anew. */
  readonly periods: () => SyncPeriods
  readonly clock: Clock
}

/** However long the cool-down is, an urgent request waits no longer than this. */
const urgentMs = 100

export class SyncLoop {
  readonly #options: SyncLoopOptions
  #requested: Pace | undefined
  /** Since when the pause until the next run nobody asked for counts, and the cool-down (monotonic milliseconds). */
  #pausedAt = Infinity
  #completedAt = -Infinity
  #outcome: WorkOutcome = 'succeeded'
  readonly #alarm: Alarm

  constructor(options: SyncLoopOptions) {
    const { minMs, maxMs } = options.periods()
    if (maxMs < minMs)
      throw new RangeError(
        `the sync period is ${maxMs} ms, shorter than the minimum sync period of ${minMs} ms: lower the minimum`,
      )
    this.#options = options
    this.#alarm = new Alarm(options.clock)
  }

  /** Asks for one more run; requests that wait together are one. Before `run` it is remembered. */
  request(pace: Pace = 'normal'): void {
    if (this.#requested !== undefined && waitOf[pace] >= waitOf[this.#requested]) return
    this.#requested = pace
    this.#alarm.ring()
  }

  /** What is waited for may be due earlier or later now. */
  periodsChanged(): void {
    this.#alarm.ring()
  }

  /** Somebody asked for a run that has not begun. */
  get isRequested(): boolean {
    return this.#requested !== undefined
  }

  async run(signal: AbortSignal): Promise<void> {
    const { work, clock } = this.#options
    using alarm = this.#alarm
    const stop = () => alarm.ring()
    signal.addEventListener('abort', stop)
    try {
      this.#pausedAt = clock.monotonic()
      while (await this.#nextTurn(signal)) {
        this.#requested = undefined
        this.#outcome = await work(signal)
        this.#completedAt = this.#pausedAt = clock.monotonic()
      }
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  /** Resolves when the next run is due: true; or when the loop is told to stop: false. */
  async #nextTurn(signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#options
    while (!signal.aborted) {
      const dueAt = this.#dueAt()
      if (dueAt <= clock.monotonic()) return true
      // A more urgent request, or the end of the loop, cuts the wait short; then it is worked out anew.
      await this.#alarm.wait(dueAt)
    }
    return false
  }

  #dueAt(): number {
    const periods = this.#options.periods()
    const periodicAt = this.#pausedAt + pauseAfter(this.#outcome, periods)
    if (this.#requested === undefined) return periodicAt
    const coolDownMs = Math.min(periods.minMs, waitOf[this.#requested])
    return Math.min(periodicAt, this.#completedAt + coolDownMs)
  }
}

const waitOf: Readonly<Record<Pace, number>> = { normal: Infinity, urgent: urgentMs, immediate: 0 }

function pauseAfter(outcome: WorkOutcome, { minMs, retryMs, maxMs }: SyncPeriods): number {
  if (outcome === 'succeeded') return maxMs
  const pauseMs = outcome === 'failed' ? retryMs : outcome.againAfterMs
  return Math.max(minMs, Math.min(maxMs, pauseMs))
}
