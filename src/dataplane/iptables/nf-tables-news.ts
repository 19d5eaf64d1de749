/** Listens to what the kernel's nf_tables tells of each transaction in this network namespace, whoever made it. */
import type { Family } from '../../net/ip.ts'
import { findAttribute, readText } from '../netlink/attribute.ts'
import type { KernelDatagrams } from '../netlink/datagrams.ts'
import { decodeMessages } from '../netlink/message.ts'
import type { NetlinkMessage } from '../netlink/message.ts'
import { netfilterAttributes, netfilterFamily } from '../netlink/nfnetlink.ts'
import type { ChainPath, Table } from './iptables.ts'
import type { News, TableNews } from './table-news.ts'

/** NFNLGRP_NFTABLES */
const group = 7
const subsystem = 10
const deletedTable = 2
const tableName = 1
/** Messages of new and deleted chains, then of rules: which attribute names the chain. */
const chainNameByCommand: Readonly<Record<number, number>> = { 3: 3, 5: 3, 6: 2, 8: 2 }

export class NfTablesNews implements TableNews {
  readonly isCheap = true
  readonly isExact = true
  readonly #datagrams: KernelDatagrams
  readonly #family: Family
  readonly #tables: readonly Table[]
  #wasDeaf = false

  private constructor(datagrams: KernelDatagrams, family: Family, tables: readonly Table[]) {
    this.#datagrams = datagrams
    this.#family = family
    this.#tables = tables
  }

  static listen(datagrams: KernelDatagrams, family: Family, tables: readonly Table[]): NfTablesNews {
    datagrams.join(group)
    return new NfTablesNews(datagrams, family, tables)
  }

  async take(): Promise<News> {
    const touched = new Set<ChainPath>()
    let isAny = this.#wasDeaf
    this.#wasDeaf = false
    for (;;) {
      const datagram = await this.#receive()
      if (datagram === undefined) return isAny ? 'any' : touched
      // Once everything is in question, what is left is only taken away.
      if (!isAny) isAny = datagram === 'lost' || !this.#read(datagram, touched)
    }
  }

  async takeAfterOwn(own: ReadonlySet<ChainPath>): Promise<News> {
    const news = await this.take()
    return news === 'any' ? news : new Set([...news].filter((path) => !own.has(path)))
  }

  async deaf<T>(work: () => Promise<T>): Promise<T> {
    // With nobody listening, the kernel need not put each of a hundred thousand rules into a message.
    this.#datagrams.leave(group)
    try {
      return await work()
    } finally {
      this.#datagrams.join(group)
      this.#wasDeaf = true
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#datagrams.close()
  }

  /** `lost`: more was told than the socket holds. */
  async #receive(): Promise<Buffer | 'lost' | undefined> {
    try {
      return await this.#datagrams.receive()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOBUFS') return 'lost'
      throw error
    }
  }

  /** False when it does not say which chains. */
  #read(datagram: Buffer, touched: Set<ChainPath>): boolean {
    const messages = decodeMessages(datagram)
    if (messages === undefined) return false
    for (const message of messages) {
      if (message.type >> 8 !== subsystem || netfilterFamily(message) !== this.#family) continue
      const command = message.type & 0xff
      const table = this.#tables.find((name) => name === text(message, tableName))
      if (table === undefined) continue
      if (command === deletedTable) return false
      const chainName = chainNameByCommand[command]
      if (chainName !== undefined) touched.add(`${table}/${text(message, chainName)}`)
    }
    return true
  }
}

function text(message: NetlinkMessage, attribute: number): string {
  const found = findAttribute(netfilterAttributes(message), attribute)
  return found === undefined ? '' : readText(found)
}
