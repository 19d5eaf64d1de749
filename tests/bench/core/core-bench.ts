import type { ApiServer } from './api-server.ts'
import type { MeasuredProgram } from './measured-process.ts'

/** What the measurements of this group share. */
export interface CoreBench {
  readonly server: ApiServer
  /** How many the server has. */
  readonly services: number
  /** Fairlead, and its peer when it could be built. */
  readonly programs: readonly MeasuredProgram[]
}
