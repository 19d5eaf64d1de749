/** A table in memory, for tests without a kernel. It refuses what nft and the kernel refuse. */
import { MemoryTable } from './memory-table.ts'
import type { ForeignChange, FoundElement, NftTable, NftTransaction, SetDeclaration, TableListing } from '../nft.ts'
import type { Rule } from '../rule.ts'
import { renderScript } from '../command/script.ts'
import { renderRule } from '../render-rule.ts'

export class MemoryNftTable implements NftTable {
  readonly #table = new MemoryTable()
  /** How often a transaction was committed. */
  commits = 0
  #foreignChange: ForeignChange = { kind: 'none' }

  async commit(transaction: NftTransaction, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    renderScript('ipv4', transaction) // throws for what cannot be said to nft
    this.#table.apply(transaction)
    this.commits++
  }

  async check(transaction: NftTransaction, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    renderScript('ipv4', transaction)
    this.#table.apply(transaction)()
  }

  async list(signal: AbortSignal): Promise<TableListing | undefined> {
    signal.throwIfAborted()
    return this.#table.list()
  }

  async elements(set: SetDeclaration, signal: AbortSignal): Promise<ReadonlyMap<string, FoundElement>> {
    signal.throwIfAborted()
    return new Map(this.#table.elements(set.name))
  }

  async rules(chains: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, readonly string[]>> {
    signal.throwIfAborted()
    const family = this.#table.family
    return new Map(
      chains.flatMap((chain) => {
        const rules = this.#table.rulesOf(chain)
        return rules === undefined ? [] : [[chain, rules.map((rule) => renderRule(rule, family))]]
      }),
    )
  }

  async foreignChange(signal: AbortSignal): Promise<ForeignChange> {
    signal.throwIfAborted()
    const change = this.#foreignChange
    this.#foreignChange = { kind: 'none' }
    return change
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** What somebody else does to the table. */
  commitAsSomebodyElse(transaction: NftTransaction, change: ForeignChange = { kind: 'changed', what: 'a test' }): void {
    this.#table.apply(transaction)
    this.#foreignChange = change
  }

  rulesOf(chain: string): readonly Rule[] | undefined {
    return this.#table.rulesOf(chain)
  }

  /** As if so many packets had matched the element. */
  count(set: SetDeclaration, key: string, packets: number): void {
    this.#table.count(set.name, key, packets)
  }
}
