/** Tables that exist only in memory. */
import type { TableName } from '../netlink/list-tables.ts'
import type { ListedTables, NftRuleset, TableShape } from '../nft-ruleset.ts'
import { NftError } from '../nft.ts'
import { nftFamily } from '../command/script.ts'

export class MemoryRuleset implements NftRuleset {
  readonly #tables: { readonly name: TableName; shape: TableShape }[] = []
  readonly #hasTool: boolean

  constructor({ hasTool = true }: { readonly hasTool?: boolean } = {}) {
    this.#hasTool = hasTool
  }

  /** What somebody else made. */
  add(name: TableName, chains: TableShape['chainsByName'] = new Map(), hasOtherObjects = false): void {
    this.#tables.push({ name, shape: { chainsByName: chains, hasOtherObjects } })
  }

  async list(signal: AbortSignal): Promise<ListedTables> {
    signal.throwIfAborted()
    return { tables: this.#tables.map(({ name }) => name), canChange: this.#hasTool }
  }

  async shape(table: TableName, signal: AbortSignal): Promise<TableShape> {
    return this.#find('read', table, signal).shape
  }

  async deleteTable(table: TableName, signal: AbortSignal): Promise<void> {
    this.#tables.splice(this.#tables.indexOf(this.#find('delete', table, signal)), 1)
  }

  async deleteChain(table: TableName, chain: string, signal: AbortSignal): Promise<void> {
    const found = this.#find(`delete chain ${chain} from`, table, signal)
    const chainsByName = new Map(found.shape.chainsByName)
    if (!chainsByName.delete(chain)) throw new NftError('missing', `cannot delete chain ${chain}: there is none`)
    found.shape = { ...found.shape, chainsByName }
  }

  #find(doing: string, { family, name }: TableName, signal: AbortSignal) {
    signal.throwIfAborted()
    const where = `cannot ${doing} nf_tables ${nftFamily(family)} ${name}`
    if (!this.#hasTool) throw new NftError('no-tool', `${where}: there is no nft`)
    const found = this.#tables.find((table) => table.name.family === family && table.name.name === name)
    if (found === undefined) throw new NftError('missing', `${where}: there is no such table`)
    return found
  }
}
