/** Finds out which chains changed from the kernel's nf_tables events, which tell of every change by any program. */
import type { Family } from '../../net/ip.ts'
import { chainField, nftMessage, ruleField, tableField } from '../nf-tables/protocol-numbers.ts'
import type { NfTablesEvents } from '../nf-tables/nf-tables-events.ts'
import { textIn } from '../netlink/attribute.ts'
import type { NetlinkMessage } from '../netlink/message.ts'
import { netfilterAttributes, netfilterFamily } from '../netlink/nfnetlink.ts'
import type { ChainPath, Table } from './iptables.ts'
import type { ChangedChains, ChainChanges } from './chain-changes.ts'

/** Which attribute of a message names the chain. */
const chainNameByType: ReadonlyMap<number, number> = new Map([
  [nftMessage.newChain, chainField.name],
  [nftMessage.deleteChain, chainField.name],
  [nftMessage.newRule, ruleField.chain],
  [nftMessage.deleteRule, ruleField.chain],
])

export class NfTablesChainChanges implements ChainChanges {
  readonly isCheap = true
  readonly isExact = true
  readonly #events: NfTablesEvents
  readonly #family: Family
  readonly #tables: readonly Table[]
  #wasNotListening = false

  constructor(events: NfTablesEvents, family: Family, tables: readonly Table[]) {
    this.#events = events
    this.#family = family
    this.#tables = tables
  }

  async take(): Promise<ChangedChains> {
    const touched = new Set<ChainPath>()
    let isAny = this.#wasNotListening
    this.#wasNotListening = false
    if (!isAny)
      for await (const told of this.#events.take()) {
        isAny = told === 'lost' || !this.#read(told, touched)
        if (isAny) break
      }
    if (!isAny) return touched
    // Any chain may have changed, so the other events do not matter.
    await this.#events.skip()
    return 'any'
  }

  async takeAfterOwnWrite(own: ReadonlySet<ChainPath>): Promise<ChangedChains> {
    const changes = await this.take()
    return changes === 'any' ? changes : new Set([...changes].filter((path) => !own.has(path)))
  }

  async withoutListening<T>(work: () => Promise<T>): Promise<T> {
    // While nobody listens, the kernel makes no messages for each of a hundred thousand rules.
    this.#events.stopListening()
    try {
      return await work()
    } finally {
      this.#events.listen()
      this.#wasNotListening = true
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#events[Symbol.asyncDispose]()
  }

  /** Returns false if it is not known which chains changed. */
  #read(messages: readonly NetlinkMessage[], touched: Set<ChainPath>): boolean {
    for (const message of messages) {
      if (netfilterFamily(message) !== this.#family) continue
      const fields = netfilterAttributes(message)
      const name = textIn(fields, tableField.name)
      const table = this.#tables.find((ours) => ours === name)
      if (table === undefined) continue
      if (message.type === nftMessage.deleteTable) return false
      const chainName = chainNameByType.get(message.type)
      if (chainName !== undefined) touched.add(`${table}/${textIn(fields, chainName) ?? ''}`)
    }
    return true
  }
}
