/**
 * The table, over netlink. What changes all the time, elements above all, goes to the kernel directly; declarations and
 * rules go through the nft command, which knows how to compile them.
 */
import type { Logger } from '../../core/logger.ts'
import type { Family } from '../../net/ip.ts'
import type { Exec } from '../exec/exec.ts'
import { OneAtATime } from '../iptables/one-at-a-time.ts'
import type { NetlinkMessage } from '../netlink/message.ts'
import { NetlinkError } from '../netlink/netlink-error.ts'
import { NetlinkSocket } from '../netlink/netlink-socket.ts'
import type { NetlinkRequest } from '../netlink/netlink.ts'
import type { OpenDatagrams } from '../netlink/open-netlink.ts'
import { countElements, encodeBatch } from './batch.ts'
import type { Batch } from './batch.ts'
import { BatchSocket } from './batch-socket.ts'
import { CommandNftTable } from './command-nft.ts'
import type { NftEvents } from './nft-events.ts'
import { tableName } from './nft.ts'
import type { ForeignChange, FoundElement, NftTable, NftTransaction, SetDeclaration, TableListing } from './nft.ts'
import { refusal, socketError } from './netlink-refusal.ts'
import { nftFamily } from './script.ts'
import { ElementReader, listElements } from './set-dump.ts'
import { getTable, listChains, listSets, readChainName, readSetName, readTableComment } from './table-dump.ts'

export interface NetlinkNftOptions {
  readonly family: Family
  readonly exec: Exec
  readonly openDatagrams: OpenDatagrams
  /** Shared by the families of the process. */
  readonly events: NftEvents
  readonly hasObjectComments: boolean
  readonly log: Logger
  readonly onDispose?: () => Promise<void>
}

/** From so many elements on, hearing of our own transaction costs more than it is worth: see NftEvents. */
const manyElements = 2000
/** Any commit on the host makes a dump start again; after so many tries, what was read has to do. */
const maxAttempts = 5

export class NetlinkNftTable implements NftTable {
  readonly #family: Family
  readonly #openDatagrams: OpenDatagrams
  readonly #events: NftEvents
  readonly #log: Logger
  readonly #onDispose: (() => Promise<void>) | undefined
  readonly #command: CommandNftTable
  readonly #queue = new OneAtATime()
  readonly #table: string
  #socket: BatchSocket | undefined
  /** The nft commands that ran since we last looked; their sockets have the number of their process as their port. */
  readonly #commandPorts = new Set<number>()

  constructor({ family, exec, openDatagrams, events, hasObjectComments, log, onDispose }: NetlinkNftOptions) {
    this.#family = family
    this.#openDatagrams = openDatagrams
    this.#events = events
    this.#log = log
    this.#onDispose = onDispose
    this.#table = `${nftFamily(family)} ${tableName}`
    const onCommitStart = (processId: number) => void this.#commandPorts.add(processId)
    this.#command = new CommandNftTable({ family, exec, hasObjectComments, onCommitStart })
  }

  commit(transaction: NftTransaction, signal: AbortSignal): Promise<void> {
    return this.#queue.run(async () => {
      signal.throwIfAborted()
      const batch = encodeBatch(this.#family, transaction, 'commit')
      const commit = async () => {
        if (batch === undefined) await this.#commitByCommand(transaction, signal)
        else await this.#send(batch, `change the table ${this.#table}`)
        this.#events.countCommit()
      }
      const isLarge = countElements(transaction) > manyElements
      await (isLarge ? this.#events.whileDeaf(commit) : commit())
    })
  }

  check(transaction: NftTransaction, signal: AbortSignal): Promise<void> {
    return this.#queue.run(async () => {
      signal.throwIfAborted()
      const batch = encodeBatch(this.#family, transaction, 'check')
      if (batch === undefined) await this.#command.check(transaction, signal)
      else await this.#send(batch, `check a change of the table ${this.#table}`)
    })
  }

  list(signal: AbortSignal): Promise<TableListing | undefined> {
    return this.#guard(`list the table ${this.#table}`, async () => {
      const table = await this.#find(getTable(this.#family), signal)
      if (table === undefined) return undefined
      const chains = await this.#dump(listChains(this.#family), () => new NameReader(readChainName), signal)
      const sets = await this.#dump(listSets(this.#family), () => new NameReader(readSetName), signal)
      return { comment: readTableComment(table), chains: chains.names, sets: sets.names }
    })
  }

  elements(set: SetDeclaration, signal: AbortSignal): Promise<ReadonlyMap<string, FoundElement>> {
    return this.#guard(`list the elements of ${set.name} in table ${this.#table}`, async () => {
      try {
        const reader = await this.#dump(listElements(this.#family, set), () => new ElementReader(set), signal)
        return reader.finish()
      } catch (error) {
        if (isNotFound(error)) return new Map<string, FoundElement>()
        throw error
      }
    })
  }

  foreignChange(signal: AbortSignal): Promise<ForeignChange> {
    return this.#queue.run(async () => {
      signal.throwIfAborted()
      return this.#guard('hear of changes to nf_tables', () =>
        this.#events.take(this.#family, (port) => port === this.#socket?.port),
      )
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue.run(() => this.#closeSocket())
    await this.#onDispose?.()
  }

  async #commitByCommand(transaction: NftTransaction, signal: AbortSignal): Promise<void> {
    try {
      await this.#command.commit(transaction, signal)
    } finally {
      // Another process may get the number later, so its changes are sorted out at once.
      for (const port of this.#commandPorts) await this.#events.forget(this.#family, port)
      this.#commandPorts.clear()
    }
  }

  async #send(batch: Batch, doing: string): Promise<void> {
    if (batch.isEmpty) return
    const errors = await this.#guard(doing, async () => {
      try {
        this.#socket ??= await BatchSocket.open(this.#openDatagrams)
        return await this.#socket.send(batch)
      } catch (error) {
        await this.#closeSocket()
        throw error
      }
    })
    if (errors.length > 0) throw refusal(doing, batch, errors)
  }

  async #closeSocket(): Promise<void> {
    const socket = this.#socket
    this.#socket = undefined
    if (socket === undefined) return
    await this.#events.forget(this.#family, socket.port)
    await socket[Symbol.asyncDispose]()
  }

  /** Undefined when there is no such object. */
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
      try {
        await using socket = new NetlinkSocket(await this.#openDatagrams('netfilter'))
        for await (const messages of socket.dump(request, signal)) for (const message of messages) reader.add(message)
        return reader
      } catch (error) {
        const isInterrupted = error instanceof NetlinkError && error.reason === 'interrupted'
        if (!isInterrupted) throw error
        this.#log.debug(2, 'nf_tables changed while it was read', { doing: request.doing, attempt, maxAttempts })
        if (attempt === maxAttempts) return reader
      }
    }
  }

  async #guard<T>(doing: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw socketError(doing, error)
    }
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
