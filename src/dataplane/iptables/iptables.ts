/**
 * The one door to the iptables tools of one IP family. The real implementation runs the commands; the in-memory one
 * refuses what they refuse. Both pass `iptables.contract.ts`. Every method rejects with an `IptablesError`, or with
 * the signal's reason when that was aborted.
 */
import type { Family } from '../../net/ip.ts'

export type Table = 'filter' | 'nat' | 'mangle'

/** Names a chain: `nat/KUBE-SERVICES`. */
export type ChainPath = `${Table}/${string}`

export type Variant = 'nf_tables' | 'legacy'

/** Pieces need not end with a line: a large cluster has 15 MB of them, and nobody has to put them together. */
export type RestoreText = string | readonly string[]

export interface Iptables {
  readonly family: Family
  features(signal: AbortSignal): Promise<IptablesFeatures>
  /**
   * Whether the tools are there and the kernel supports this family. Rejects when it could not be found out, e.g. for
   * lack of permission, and when the tools are too old.
   */
  isSupported(signal: AbortSignal): Promise<boolean>
  /**
   * `iptables-restore --noflush --counters`: chains that the input declares are emptied and filled, the rest stays.
   * All of a table or nothing of it; an earlier table of the same input stays applied.
   */
  restore(input: RestoreText, signal: AbortSignal): Promise<void>
  /** The text of `iptables-save -t TABLE`. */
  save(table: Table, signal: AbortSignal): Promise<string>
  /** The text of `iptables-save`: all tables that the kernel has. The nft variant takes as long for one of them. */
  saveAll(signal: AbortSignal): Promise<string>
  /** The same, in pieces as they come: see `SaveReader`. */
  readAll(onPiece: (piece: Buffer) => void, signal: AbortSignal): Promise<void>
  /** True when it was missing and was made. */
  ensureChain(table: Table, chain: string, signal: AbortSignal): Promise<boolean>
  /** True when the rule was missing and was inserted at the top. Its arguments are plain words, without quotes. */
  ensureRule(table: Table, chain: string, rule: readonly string[], signal: AbortSignal): Promise<boolean>
  /** True when the rule was there and was deleted. */
  deleteRule(table: Table, chain: string, rule: readonly string[], signal: AbortSignal): Promise<boolean>
  chainExists(table: Table, chain: string, signal: AbortSignal): Promise<boolean>
  /**
   * The rules of one chain as `save` prints them, without `-A CHAIN`; undefined when there is no such chain. With
   * nf_tables this costs what the chain holds, with legacy about a third of what saving the table costs.
   */
  chainRules(table: Table, chain: string, signal: AbortSignal): Promise<readonly string[] | undefined>
  /** Rejects with `not-found` when there is none, and with `refused` when it is not empty or something jumps to it. */
  deleteChain(table: Table, chain: string, signal: AbortSignal): Promise<void>
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
  /** The line of the restore input that was refused, from 1. Undefined when only the table as a whole was refused. */
  readonly line: number | undefined

  constructor(reason: IptablesReason, message: string, options: ErrorOptions & { line?: number } = {}) {
    super(message, options)
    this.reason = reason
    this.line = options.line
  }
}
