/** Which connections of the Node engine are reported, and to whom. */
import type { Clock } from '../../../core/clock.ts'
import { noReports, type ConnectionReport, type OnConnection, type ReportSettings } from '../connection-report.ts'
import { ReportSampling } from '../report-sampling.ts'

export class Reports extends ReportSampling {
  readonly #onConnection: OnConnection | undefined
  readonly #prefix: string
  #count = 0

  constructor(
    settings: ReportSettings,
    { clock, random }: { readonly clock: Clock; readonly random: () => number },
    onConnection: OnConnection | undefined,
  ) {
    super(onConnection === undefined ? noReports : settings, clock, random)
    this.#onConnection = onConnection
    this.#prefix = random().toString(36).slice(2)
  }

  /** No two connections of any thread have the same. */
  nextId(): string {
    return `${this.#prefix}-${this.#count++}`
  }

  tell(report: ConnectionReport): void {
    this.#onConnection?.(report)
  }
}
