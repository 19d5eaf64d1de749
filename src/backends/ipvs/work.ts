/** One sync's work: what is wanted, what is there, and what to look at. Its steps share this. */
import type { Logger } from '../../core/logger.ts'
import type { KernelState as RulesState } from '../../dataplane/iptables/language/kernel-state.ts'
import type { Draining } from './draining.ts'
import type { Failures } from './failures.ts'
import type { Kernel } from './kernel.ts'
import type { IpvsPlan } from './plan.ts'
import type { Scope, Touched } from './touched.ts'
import type { Written } from './written.ts'

export interface IpvsMetrics {
  restoreFailed(): void
}

export interface Work {
  readonly kernel: Kernel
  readonly plan: IpvsPlan
  /** Kept up to date step by step. */
  readonly written: Written
  readonly touched: Scope
  readonly draining: Draining
  readonly failures: Failures
  /** What could not be taken away; the next sync looks at it again. */
  readonly leftovers: Touched
  /** The rules as a full sync read them, together with everything else; undefined when nothing was read. */
  readonly rules: RulesState | undefined
  /** Virtual servers that nobody may delete. */
  isExcluded(ip: string): boolean
  /** Operations, entries, addresses and rules that were written, for the log line. */
  readonly counts: { operations: number; entries: number; addresses: number; rules: number }
  readonly metrics: IpvsMetrics
  readonly log: Logger
}

/** The kernel is not what we took it for: somebody else changed it. It must be read before more is written. */
export class Surprise extends Error {
  override readonly name = 'Surprise'
}
