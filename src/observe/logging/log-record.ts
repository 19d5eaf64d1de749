import type { LogFields } from '../../core/logger.ts'
import type { CallSite } from './call-site.ts'

/** One line before it is rendered in either format. */
export interface LogRecord {
  readonly severity: 'info' | 'warn' | 'error'
  /** The verbosity that shows it; 0 for everything but debug lines. */
  readonly level: number
  readonly message: string
  /** Fields of the logger itself, then those of the call. */
  readonly bound: LogFields
  readonly fields: LogFields
  /** Unix milliseconds, with a fraction. */
  readonly atMs: number
  readonly caller: CallSite
}
