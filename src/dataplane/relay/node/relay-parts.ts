/** What the pieces of the Node engine share. */
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'
import type { DescriptorBudget } from '../descriptor-budget.ts'
import type { EngineCounters } from '../engine-counters.ts'
import type { ReadBuffers } from './read-buffers.ts'
import type { Reports } from './reports.ts'
import type { RelaySettings } from '../relay.ts'

export interface RelayParts {
  readonly settings: RelaySettings
  readonly log: Logger
  readonly clock: Clock
  readonly random: () => number
  readonly descriptors: DescriptorBudget
  readonly buffers: ReadBuffers
  readonly counters: EngineCounters
  readonly reports: Reports
  /** Aborts when the engine ends: nothing may wait any longer. */
  readonly ending: AbortSignal
}
