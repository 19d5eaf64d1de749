/** What the nftables mode needs of the kernel: one table of one family, changed by transactions. */
import type { Rule } from './rule.ts'

/** Of the table of each family; nothing outside of it is read or changed. */
export const tableName = 'fairlead'

export type FieldType = 'ipv4_addr' | 'ipv6_addr' | 'inet_proto' | 'inet_service' | 'index'

/** A set, or a map when it has a value. */
export interface SetDeclaration {
  readonly name: string
  readonly key: readonly FieldType[]
  /** Undefined for a set. */
  readonly value?: 'verdict' | readonly FieldType[]
  /** Fields of the keys may be prefixes, or ranges as `30000-30100`. */
  readonly isInterval?: boolean
  /** Rules add elements, which are forgotten after this time. */
  readonly timeoutSeconds?: number
  /** Rules remember connections here, until they end. */
  readonly keepsConnections?: boolean
  /** Each element counts the packets that matched it. */
  readonly hasCounter?: boolean
  readonly comment: string
}

/** Keys and values as nft prints them: `10.0.0.1 . tcp . 80`, `10.1.0.5 . 8080`, `goto pick-3`, `drop`. */
export interface SetElement {
  readonly key: string
  /** Only in maps. */
  readonly value?: string
  readonly comment?: string
}

export interface Chain {
  readonly name: string
  /** Undefined for a chain that others jump to. */
  readonly hook?: ChainHook
  readonly comment: string
}

export interface ChainHook {
  readonly type: 'filter' | 'nat'
  readonly hook: 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting'
  readonly priority: number
}

/**
 * Adding what is there is no error, unless it already exists with another definition or value. Deleting what is not there is
 * one, and so is deleting what is in use.
 */
export type NftOperation =
  | { readonly do: 'add table'; readonly comment: string }
  | { readonly do: 'delete table' }
  | { readonly do: 'add chain'; readonly chain: Chain }
  | { readonly do: 'flush chain' | 'delete chain'; readonly name: string }
  | { readonly do: 'add rule'; readonly chain: string; readonly rule: Rule }
  | { readonly do: 'add set'; readonly set: SetDeclaration }
  | { readonly do: 'delete set'; readonly set: Pick<SetDeclaration, 'name' | 'value'> }
  | { readonly do: 'add elements'; readonly set: SetDeclaration; readonly elements: readonly SetElement[] }
  | { readonly do: 'delete elements'; readonly set: SetDeclaration; readonly keys: readonly string[] }

/** All of it happens, in this order and at one moment, or nothing does. */
export type NftTransaction = readonly NftOperation[]

export interface TableListing {
  /** The comment of the table, empty when it has none. */
  readonly comment: string
  readonly chains: readonly string[]
  /** Sets and maps that have a name of their own. */
  readonly sets: readonly string[]
}

/** What an element was found with. Comments are not read: nothing depends on them. */
export interface FoundElement {
  /** Empty in a set. */
  readonly value: string
  /** Packets that matched it; 0 where nobody counts. */
  readonly packets: number
}

/** The table `fairlead` of one family. Every method rejects with an NftError, or with the signal's reason. */
export interface NftTable extends AsyncDisposable {
  commit(transaction: NftTransaction, signal: AbortSignal): Promise<void>
  /** Rejects as `commit` would, and changes nothing either way. */
  check(transaction: NftTransaction, signal: AbortSignal): Promise<void>
  /** Undefined when there is no such table. */
  list(signal: AbortSignal): Promise<TableListing | undefined>
  /** By key. Empty when the set or the table does not exist. With `keys`, others may be left out. */
  elements(
    set: SetDeclaration,
    signal: AbortSignal,
    keys?: readonly string[],
  ): Promise<ReadonlyMap<string, FoundElement>>
  /** The rules of these chains, as nft prints them. A chain that does not exist is left out. */
  rules(chains: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, readonly string[]>>
  /**
   * Whether somebody other than this object changed the table since the last call, or since it was opened; it says
   * what. `unknown`: changes were lost, so only a comparison can tell.
   */
  foreignChange(signal: AbortSignal): Promise<ForeignChange>
}

export type ForeignChange =
  { readonly kind: 'none' } | { readonly kind: 'changed'; readonly what: string } | { readonly kind: 'unknown' }

export type NftErrorReason =
  /** There is no nft program, or one that is too old. */
  | 'no-tool'
  /** The kernel is too old, or lacks nf_tables. */
  | 'no-kernel-support'
  | 'not-permitted'
  /** A part of the transaction names something that does not exist. */
  | 'missing'
  /** A part of the transaction adds what exists with another definition. */
  | 'exists'
  /** A part of the transaction deletes what is in use. */
  | 'busy'
  /** Any other refusal of the transaction. */
  | 'refused'
  /** The tool or the socket failed: another attempt may succeed. */
  | 'failed'

export class NftError extends Error {
  override readonly name = 'NftError'
  readonly reason: NftErrorReason

  constructor(reason: NftErrorReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}
