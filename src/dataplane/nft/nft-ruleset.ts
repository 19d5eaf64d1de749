/** The tables of both IP families, whoever made them. Each implementation passes `nft-ruleset.contract.ts`. */
import type { TableName } from './netlink/list-tables.ts'

/** Every method rejects with an NftError, or with the signal's reason. */
export interface NftRuleset {
  list(signal: AbortSignal): Promise<ListedTables>
  shape(table: TableName, signal: AbortSignal): Promise<TableShape>
  /** With all that is in it. */
  deleteTable(table: TableName, signal: AbortSignal): Promise<void>
  /** With its rules. */
  deleteChain(table: TableName, chain: string, signal: AbortSignal): Promise<void>
}

export interface ListedTables {
  readonly tables: readonly TableName[]
  /** False where there is no nft: then all other methods reject with `no-tool`. */
  readonly canChange: boolean
}

export interface TableShape {
  readonly chainsByName: ReadonlyMap<string, ChainShape>
  /** Sets, maps and the like, which iptables never makes. */
  readonly hasOtherObjects: boolean
}

export interface ChainShape {
  /** Undefined for a chain that others jump to. */
  readonly hook: { readonly name: string; readonly policy: string } | undefined
  readonly ruleCount: number
}
