import type { Logger } from '../../core/logger.ts'
import { shownValue } from '../../net/shown-value.ts'
import { pathText } from '../model/record-problem.ts'
import type { RecordProblem } from '../model/record-problem.ts'

/** Logs what is wrong with a record once, not each time that it is sent again. */
export class RefusedRecords {
  readonly #log: Logger
  readonly #saidByRecord = new Map<string, string>()

  constructor(log: Logger) {
    this.#log = log
  }

  refuse(record: string, { path, reason }: RecordProblem): void {
    const said = `${pathText(path)} ${reason}`.trim()
    if (this.#saidByRecord.get(record) === said) return
    this.#saidByRecord.set(record, said)
    this.#log.warn('the KPNG server sent a record that cannot be used; what it said before stays', {
      record: shownValue(record),
      problem: said,
    })
  }

  /** The record is good again, or was removed. */
  forget(record: string): void {
    this.#saidByRecord.delete(record)
  }
}
