import type { LogFields } from '../../core/logger.ts'

/** Something about the manifests that their author should know. */
export interface Notice {
  readonly level: 'warn' | 'info'
  /** Constant; details are in the fields. */
  readonly message: string
  readonly fields: LogFields
}
