/** What happened to our table of one family, by the port of the socket that did it. */
import { textIn } from '../../netlink/attribute.ts'
import type { Slice } from '../../netlink/attribute.ts'
import type { NetlinkMessage } from '../../netlink/message.ts'
import { netfilterAttributes } from '../../netlink/nfnetlink.ts'
import {
  chainField,
  elementListField,
  nftMessage,
  ruleField,
  setField,
  tableField,
} from '../../nf-tables/protocol-numbers.ts'
import { tableName } from '../nft.ts'
import type { ForeignChange } from '../nft.ts'

interface Changes {
  readonly first: string
  count: number
  process: string | undefined
}

export class ChangeLog {
  #isLossy = false
  readonly #changesByPort = new Map<number, Changes>()

  add(port: number, message: NetlinkMessage): void {
    const fields = netfilterAttributes(message)
    // Every object but the table itself names its table first; the table names itself.
    if (textIn(fields, tableField.name) !== tableName) return
    const known = this.#changesByPort.get(port)
    if (known === undefined)
      this.#changesByPort.set(port, { first: describe(message.type, fields), count: 1, process: undefined })
    else known.count++
  }

  /** Comes at the end of a transaction. */
  nameProcess(port: number, process: string): void {
    const changes = this.#changesByPort.get(port)
    if (changes !== undefined) changes.process ??= process
  }

  /** Some changes were not heard of. */
  lose(): void {
    this.#isLossy = true
  }

  forget(port: number): void {
    this.#changesByPort.delete(port)
  }

  take(isOwnPort: (port: number) => boolean): ForeignChange {
    const foreign = [...this.#changesByPort]
      .filter(([port]) => !isOwnPort(port))
      .map(([, changes]) => sentence(changes))
    const isLossy = this.#isLossy
    this.#changesByPort.clear()
    this.#isLossy = false
    if (foreign.length > 0) return { kind: 'changed', what: foreign.join('; ') }
    return isLossy ? { kind: 'unknown' } : { kind: 'none' }
  }
}

function sentence({ first, count, process }: Changes): string {
  return `${process ?? 'somebody'} ${first}${count === 1 ? '' : `, and made ${count - 1} more changes`}`
}

function describe(type: number, fields: Slice): string {
  const name = (field: number) => textIn(fields, field) ?? '?'
  switch (type) {
    case nftMessage.newTable:
      return 'changed the table'
    case nftMessage.deleteTable:
      return 'deleted the table'
    case nftMessage.newChain:
      return `added chain ${name(chainField.name)}`
    case nftMessage.deleteChain:
      return `deleted chain ${name(chainField.name)}`
    case nftMessage.newRule:
      return `added a rule to chain ${name(ruleField.chain)}`
    case nftMessage.deleteRule:
      return `deleted a rule of chain ${name(ruleField.chain)}`
    case nftMessage.newSet:
      return `added set ${name(setField.name)}`
    case nftMessage.deleteSet:
      return `deleted set ${name(setField.name)}`
    case nftMessage.newElements:
      return `added elements to ${name(elementListField.set)}`
    case nftMessage.deleteElements:
      return `deleted elements of ${name(elementListField.set)}`
    default:
      return 'changed an object'
  }
}
