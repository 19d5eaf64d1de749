/** Reads the table over netlink. It opens a socket for each question, so there is nothing to keep and nothing to end. */
import { constants } from 'node:os'
import type { Logger } from '../../../core/logger.ts'
import type { Family } from '../../../net/ip.ts'
import { verdictOf } from '../../netlink/message.ts'
import type { NetlinkMessage } from '../../netlink/message.ts'
import { NetlinkError, netlinkErrorFrom } from '../../netlink/netlink-error.ts'
import { NetlinkSocket } from '../../netlink/netlink-socket.ts'
import type { NetlinkRequest } from '../../netlink/netlink.ts'
import type { OpenDatagrams } from '../../netlink/open-netlink.ts'
import { receiveAnswers } from './answers.ts'
import { encodeLookups } from './element-lookup.ts'
import { shortGenerationOf } from '../../nf-tables/generation.ts'
import type { FoundElement, SetDeclaration, TableListing } from '../nft.ts'
import { isPrefixTree } from './prefix-tree.ts'
import { ElementReader, listElements } from './set-dump.ts'
import { getTable, listChains, listSets, readChainName, readSetName, readTableComment } from './table-dump.ts'

export interface TableReaderOptions {
  readonly family: Family
  readonly openDatagrams: OpenDatagrams
  readonly log: Logger
}

/** Any commit on the host makes a dump start again; after so many tries, what was read has to do. */
const maxAttempts = 5
/** Each is answered by a datagram of its own, and all of them wait in the receive queue. */
const lookupsAtOnce = 500
/** From so many keys on, the listing of a set costs less than asking for each. */
const manyKeys = 5000

/** Rejects with a NetlinkError, or with the signal's reason. */
export class TableReader {
  readonly #family: Family
  readonly #openDatagrams: OpenDatagrams
  readonly #log: Logger

  constructor({ family, openDatagrams, log }: TableReaderOptions) {
    this.#family = family
    this.#openDatagrams = openDatagrams
    this.#log = log
  }

  async list(signal: AbortSignal): Promise<TableListing | undefined> {
    const table = await this.#find(getTable(this.#family), signal)
    if (table === undefined) return undefined
    const chains = await this.#dump(listChains(this.#family), () => new NameReader(readChainName), signal)
    const sets = await this.#dump(listSets(this.#family), () => new NameReader(readSetName), signal)
    return { comment: readTableComment(table), chains: chains.names, sets: sets.names }
  }

  async elements(
    set: SetDeclaration,
    signal: AbortSignal,
    keys?: readonly string[],
  ): Promise<ReadonlyMap<string, FoundElement>> {
    if (keys !== undefined && keys.length <= manyKeys && !isPrefixTree(set)) return this.#lookUp(set, keys, signal)
    try {
      const reader = await this.#dump(listElements(this.#family, set), () => new ElementReader(set), signal)
      return reader.finish()
    } catch (error) {
      if (isNotFound(error)) return new Map()
      throw error
    }
  }

  async #lookUp(
    set: SetDeclaration,
    keys: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, FoundElement>> {
    const reader = new ElementReader(set)
    const datagrams = await this.#openDatagrams('netfilter')
    try {
      for (let at = 0; at < keys.length; at += lookupsAtOnce) {
        signal.throwIfAborted()
        await datagrams.send(encodeLookups(this.#family, set, keys.slice(at, at + lookupsAtOnce)))
        for (const message of await receiveAnswers(datagrams)) {
          const errno = verdictOf(message)?.errno
          if (errno === undefined) reader.add(message)
          else if (errno !== 0 && errno !== constants.errno.ENOENT)
            throw netlinkErrorFrom(errno, `look up elements of ${set.name}`)
        }
      }
      return reader.finish()
    } finally {
      await datagrams.close()
    }
  }

  async #find(request: NetlinkRequest, signal: AbortSignal): Promise<NetlinkMessage | undefined> {
    await using socket = new NetlinkSocket(await this.#openDatagrams('netfilter'))
    try {
      return (await socket.request(request, signal))[0]
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  async #dump<T extends MessageReader>(request: NetlinkRequest, makeReader: () => T, signal: AbortSignal): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const reader = makeReader()
      if (await this.#readDump(request, reader, signal)) return reader
      this.#log.debug(2, 'nf_tables changed while it was read', { doing: request.doing, attempt, maxAttempts })
      if (attempt === maxAttempts) return reader
    }
  }

  /** False when somebody committed meanwhile. */
  async #readDump(request: NetlinkRequest, reader: MessageReader, signal: AbortSignal): Promise<boolean> {
    // For elements the kernel sets no flag when it is interrupted, but each part tells its generation.
    const generations = new Set<number>()
    try {
      await using socket = new NetlinkSocket(await this.#openDatagrams('netfilter'))
      for await (const messages of socket.dump(request, signal))
        for (const message of messages) {
          generations.add(shortGenerationOf(message))
          reader.add(message)
        }
    } catch (error) {
      if (error instanceof NetlinkError && error.reason === 'interrupted') return false
      throw error
    }
    return generations.size <= 1
  }
}

interface MessageReader {
  add(message: NetlinkMessage): void
}

class NameReader implements MessageReader {
  readonly names: string[] = []
  readonly #read: (message: NetlinkMessage) => string | undefined

  constructor(read: (message: NetlinkMessage) => string | undefined) {
    this.#read = read
  }

  add(message: NetlinkMessage): void {
    const name = this.#read(message)
    if (name !== undefined) this.names.push(name)
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof NetlinkError && error.reason === 'not-found'
}
