/**
 * The interface to the iptables tools of one IP family. The real implementation runs the commands; the in-memory one
 * refuses what they refuse. Both pass `iptables.contract.ts`. Every method rejects with an `IptablesError`, or with
 * the signal's reason when that was aborted.
 */
import type { Family } from '../../net/ip.ts'

export type Table = 'filter' | 'nat' | 'mangle'

/** `nat/KUBE-SERVICES`. */
export type ChainPath = `${Table}/${string}`

export type Variant = 'nf_tables' | 'legacy'

/** In pieces, because a large cluster has 15 MB, which need not be joined. A piece may end within a line. */
export type RestoreText = string | readonly string[]

export interface Iptables {
  readonly family: Family
  features(signal: AbortSignal): Promise<IptablesFeatures>
  /**
   * Whether the tools are installed and the kernel supports this family. Rejects if it could not be found out, e.g. for
   * lack of permission, and if the tools are too old.
   */
  isSupported(signal: AbortSignal): Promise<boolean>
  /** Whether rules can have this match: both the tools and the kernel must know it. */
  hasMatch(match: string, signal: AbortSignal): Promise<boolean>
  /**
   * `iptables-restore --noflush --counters`: chains that the input declares are emptied and filled, the rest stays.
   * All of a table or nothing of it; an earlier table of the same input stays applied.
   */
  restore(input: RestoreText, signal: AbortSignal): Promise<void>
  /** The text of `iptables-save -t TABLE`. */
  save(table: Table, signal: AbortSignal): Promise<string>
  /** The text of `iptables-save`, with all tables of the kernel. The nft variant takes as long for one table. */
  saveAll(signal: AbortSignal): Promise<string>
  /** The same in pieces, as they are printed. See `SaveReader`. */
  readAll(onPiece: (piece: Buffer) => void, signal: AbortSignal): Promise<void>
  /**
   * `iptables-save --counters`: every rule of all tables, or of those chains, with the packets that it has matched. Chains
   * that are not there are left out.
   */
  readCounters(onRule: (rule: CountedRule) => void, signal: AbortSignal, chains?: readonly ChainPath[]): Promise<void>
  /** Returns false if the chain existed. */
  ensureChain(table: Table, chain: string, signal: AbortSignal): Promise<boolean>
  /** Inserts the rule at the top. Returns false if it existed. Its words are not quoted. */
  ensureRule(table: Table, chain: string, rule: readonly string[], signal: AbortSignal): Promise<boolean>
  /** Returns false if there was no such rule. */
  deleteRule(table: Table, chain: string, rule: readonly string[], signal: AbortSignal): Promise<boolean>
  chainExists(table: Table, chain: string, signal: AbortSignal): Promise<boolean>
  /**
   * The rules of one chain as `save` prints them, without `-A CHAIN`. With nf_tables the cost depends on the size of the
   * chain; with legacy it is about a third of the cost of saving the table.
   */
  chainRules(table: Table, chain: string, signal: AbortSignal): Promise<readonly string[] | undefined>
  /** Rejects with `not-found` if there is none, and with `refused` if it is not empty or a rule jumps to it. */
  deleteChain(table: Table, chain: string, signal: AbortSignal): Promise<void>
}

export interface CountedRule {
  readonly table: Table
  readonly chain: string
  /** As `save` prints it, without `-A CHAIN`. */
  readonly rule: string
  readonly packets: number
}

export interface IptablesFeatures {
  /** `1.8.9` */
  readonly version: string
  readonly variant: Variant
  /** MASQUERADE understands --random-fully. */
  readonly hasRandomFully: boolean
}

type IptablesReason =
  'tool-missing' | 'unsupported' | 'not-permitted' | 'locked' | 'not-found' | 'refused' | 'cannot-run' | 'timeout'

export class IptablesError extends Error {
  override readonly name = 'IptablesError'
  readonly reason: IptablesReason
  /** The line of the restore input that was refused, from 1. Unknown if the table was refused as a whole. */
  readonly line: number | undefined

  constructor(reason: IptablesReason, message: string, options: ErrorOptions & { line?: number } = {}) {
    super(message, options)
    this.reason = reason
    this.line = options.line
  }
}
