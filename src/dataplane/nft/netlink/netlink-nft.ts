/**
 * The table, over netlink. What changes all the time, elements above all, goes to the kernel directly; declarations and
 * rules go through the nft command, which knows how to compile them.
 */
import type { Logger } from '../../../core/logger.ts'
import type { Family } from '../../../net/ip.ts'
import type { Exec } from '../../exec/exec.ts'
import { OneAtATime } from '../../../core/sync/one-at-a-time.ts'
import type { OpenDatagrams } from '../../netlink/open-netlink.ts'
import { countChanges, encodeBatch } from './batch.ts'
import type { Batch } from './batch.ts'
import { BatchSocket } from './batch-socket.ts'
import type { BatchError } from './batch-socket.ts'
import { CommandNftTable } from '../command/command-nft.ts'
import type { NftEvents } from './nft-events.ts'
import { tableName } from '../nft.ts'
import type { ForeignChange, FoundElement, NftTable, NftTransaction, SetDeclaration, TableListing } from '../nft.ts'
import { refusal, socketError } from './netlink-refusal.ts'
import { nftFamily } from '../command/script.ts'
import { TableReader } from './table-reader.ts'

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

/** From so many changes on, hearing of our own transaction costs more than it is worth: see NfTablesEvents. */
const manyChanges = 2000

export class NetlinkNftTable implements NftTable {
  readonly #family: Family
  readonly #openDatagrams: OpenDatagrams
  readonly #events: NftEvents
  readonly #reader: TableReader
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
    this.#reader = new TableReader({ family, openDatagrams, log })
    this.#onDispose = onDispose
    this.#table = `${nftFamily(family)} ${tableName}`
    const onCommitStart = (processId: number) => void this.#commandPorts.add(processId)
    this.#command = new CommandNftTable({ family, exec, hasObjectComments, onCommitStart })
  }

  commit(transaction: NftTransaction, signal: AbortSignal): Promise<void> {
    const doing = `change the table ${this.#table}`
    return this.#oneByOne(doing, signal, async () => {
      const batch = encodeBatch(this.#family, transaction, 'commit')
      if (batch?.isEmpty === true) return
      const commit = async () => {
        if (batch === undefined) await this.#commitByCommand(transaction, signal)
        else await this.#send(batch, doing)
        this.#events.countCommit()
      }
      const isLarge = countChanges(transaction) > manyChanges
      await (isLarge ? this.#events.whileDeaf(commit) : commit())
    })
  }

  check(transaction: NftTransaction, signal: AbortSignal): Promise<void> {
    const doing = `check a change of the table ${this.#table}`
    return this.#oneByOne(doing, signal, async () => {
      const batch = encodeBatch(this.#family, transaction, 'check')
      if (batch === undefined) await this.#command.check(transaction, signal)
      else if (!batch.isEmpty) await this.#send(batch, doing)
    })
  }

  list(signal: AbortSignal): Promise<TableListing | undefined> {
    return this.#guard(`list the table ${this.#table}`, () => this.#reader.list(signal))
  }

  elements(
    set: SetDeclaration,
    signal: AbortSignal,
    keys?: readonly string[],
  ): Promise<ReadonlyMap<string, FoundElement>> {
    const doing = `list the elements of ${set.name} in table ${this.#table}`
    return this.#guard(doing, () => this.#reader.elements(set, signal, keys))
  }

  /** Nobody but the command can turn what the kernel runs into words. */
  rules(chains: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, readonly string[]>> {
    return this.#command.rules(chains, signal)
  }

  foreignChange(signal: AbortSignal): Promise<ForeignChange> {
    return this.#oneByOne('hear of changes to nf_tables', signal, () =>
      this.#events.take(this.#family, (port) => port === this.#socket?.port),
    )
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
    let errors: readonly BatchError[]
    try {
      this.#socket ??= await BatchSocket.open(this.#openDatagrams)
      errors = await this.#socket.send(batch)
    } catch (error) {
      await this.#closeSocket()
      throw error
    }
    if (errors.length > 0) throw refusal(doing, batch, errors)
  }

  async #closeSocket(): Promise<void> {
    const socket = this.#socket
    this.#socket = undefined
    if (socket === undefined) return
    await this.#events.forget(this.#family, socket.port)
    await socket[Symbol.asyncDispose]()
  }

  #oneByOne<T>(doing: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#queue.run(async () => {
      signal.throwIfAborted()
      return this.#guard(doing, work)
    })
  }

  async #guard<T>(doing: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw socketError(doing, error)
    }
  }
}
