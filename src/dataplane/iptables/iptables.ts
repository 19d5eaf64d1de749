/**
 * The one door to the iptables tools of one IP family. The real implementation runs the commands; the in-memory one
 * refuses what they refuse. Both pass `iptables.contract.ts`.
 */
import type { Family } from '../../net/ip.ts'

export type Table = 'filter' | 'nat' | 'mangle'

export interface Iptables {
  readonly family: Family
  features(signal: AbortSignal): Promise<IptablesFeatures>
  /** Whether the kernel and the tools support this family at all. */
  isSupported(signal: AbortSignal): Promise<boolean>
  /**
   * `iptables-restore --noflush --counters`: chains that the input declares are emptied and filled, the rest stays.
   * All of a table or nothing of it; an earlier table of the same input stays applied.
   */
  restore(input: string, signal: AbortSignal): Promise<void>
  /** The text of `iptables-save -t TABLE`. */
  save(table: Table, signal: AbortSignal): Promise<string>
  /** True when it was missing and was made. */
  ensureChain(table: Table, chain: string, signal: AbortSignal): Promise<boolean>
  /** True when the rule was missing and was inserted at the top. Its arguments are plain words, without quotes. */
  ensureRule(table: Table, chain: string, rule: readonly string[], signal: AbortSignal): Promise<boolean>
  /** True when the rule was there and was deleted. */
  deleteRule(table: Table, chain: string, rule: readonly string[], signal: AbortSignal): Promise<boolean>
  chainExists(table: Table, chain: string, signal: AbortSignal): Promise<boolean>
  deleteChain(table: Table, chain: string, signal: AbortSignal): Promise<void>
}

export interface IptablesFeatures {
  /** `1.8.9`; empty when it could not be found out. */
  readonly version: string
  readonly variant: 'nf_tables' | 'legacy'
  /** MASQUERADE understands --random-fully. */
  readonly hasRandomFully: boolean
}

export class IptablesError extends Error {
  override readonly name = 'IptablesError'
  readonly reason: 'tool-missing' | 'not-permitted' | 'locked' | 'refused' | 'timeout'
  /** Of the restore input, from 1, when the tool named one. */
  readonly line: number | undefined

  constructor(reason: IptablesError['reason'], message: string, options: ErrorOptions & { line?: number } = {}) {
    super(message, options)
    this.reason = reason
    this.line = options.line
  }
}
