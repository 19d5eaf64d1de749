/** Decides which connections are reported. */
import type { Clock } from '../../core/clock.ts'
import type { ReportSettings } from './connection-report.ts'

export class ReportSampling {
  readonly #settings: ReportSettings
  readonly #clock: Pick<Clock, 'monotonic'>
  /** Until the next one. */
  #left: number
  #second = 0
  #failures = 0

  /** Which one is the first is random, so that several engines do not report the same kind of connection. */
  constructor(settings: ReportSettings, clock: Pick<Clock, 'monotonic'>, random: () => number) {
    this.#settings = settings
    this.#clock = clock
    this.#left = Math.floor(random() * settings.reportOneIn)
  }

  /** To be asked once for each connection. */
  takes(): boolean {
    const { reportOneIn } = this.#settings
    if (reportOneIn === 0) return false
    if (this.#left > 0) {
      this.#left--
      return false
    }
    this.#left = reportOneIn - 1
    return true
  }

  /** To be asked once for each connection that failed and was not taken before. */
  takesFailure(): boolean {
    const { reportOneIn, failureReportsPerSecond } = this.#settings
    if (reportOneIn === 0) return false
    const second = Math.floor(this.#clock.monotonic() / 1000)
    if (second !== this.#second) this.#failures = 0
    this.#second = second
    return this.#failures++ < failureReportsPerSecond
  }
}
