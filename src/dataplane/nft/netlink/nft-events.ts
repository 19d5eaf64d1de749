/**
 * Knows what others did to our tables. The families of a process share one listener: nobody may listen during the large
 * transactions of either.
 */
import type { Family } from '../../../net/ip.ts'
import { families } from '../../../net/ip.ts'
import { OneAtATime } from '../../../core/sync/one-at-a-time.ts'
import { portOf, readGeneration } from '../../nf-tables/generation.ts'
import { NfTablesEvents } from '../../nf-tables/nf-tables-events.ts'
import type { Told } from '../../nf-tables/nf-tables-events.ts'
import { netfilterFamily } from '../../netlink/nfnetlink.ts'
import type { OpenDatagrams } from '../../netlink/open-netlink.ts'
import { ChangeLog } from './change-log.ts'
import type { ForeignChange } from '../nft.ts'

export class NftEvents implements AsyncDisposable {
  readonly #events: NfTablesEvents
  readonly #queue = new OneAtATime()
  readonly #logs: Readonly<Record<Family, ChangeLog>> = { ipv4: new ChangeLog(), ipv6: new ChangeLog() }
  /** How many large transactions are under way, during which nobody listens. */
  #deafness = 0
  #generationBefore = 0
  #commitsWhileDeaf = 0

  private constructor(events: NfTablesEvents) {
    this.#events = events
  }

  /** Rejects with a NetlinkError where there is no way to listen. */
  static async open(openDatagrams: OpenDatagrams): Promise<NftEvents> {
    return new NftEvents(await NfTablesEvents.open(openDatagrams))
  }

  /** What others did to our table of this family since the last call. Ports tell who did it. */
  take(family: Family, isOwnPort: (port: number) => boolean): Promise<ForeignChange> {
    return this.#queue.run(async () => {
      await this.#drain()
      return this.#logs[family].take(isOwnPort)
    })
  }

  /** What came from this port so far was not foreign. */
  forget(family: Family, port: number): Promise<void> {
    return this.#queue.run(async () => {
      await this.#drain()
      this.#logs[family].forget(port)
    })
  }

  /** Somebody of this process committed. */
  countCommit(): void {
    this.#commitsWhileDeaf++
  }

  /**
   * Runs a large transaction without listening. If others commit in the meantime, nobody knows to which table, and the
   * next `take` says so.
   */
  async whileDeaf<T>(work: () => Promise<T>): Promise<T> {
    await this.#queue.run(() => this.#stopListening())
    try {
      return await work()
    } finally {
      await this.#queue.run(() => this.#listenAgain())
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#events[Symbol.asyncDispose]()
  }

  async #stopListening(): Promise<void> {
    if (this.#deafness++ > 0) return
    // Asked before we stop, and again after we have started: a commit in between is counted twice rather than never.
    this.#generationBefore = await this.#generation()
    this.#commitsWhileDeaf = 0
    this.#events.stopListening()
  }

  async #listenAgain(): Promise<void> {
    if (--this.#deafness > 0) return
    this.#events.listen()
    const commits = ((await this.#generation()) - this.#generationBefore) >>> 0
    if (commits !== this.#commitsWhileDeaf) this.#lose()
  }

  #generation(): Promise<number> {
    return this.#events.generation((told) => this.#hear(told))
  }

  async #drain(): Promise<void> {
    for await (const told of this.#events.take()) this.#hear(told)
  }

  #hear(told: Told): void {
    if (told === 'lost') this.#lose()
    else
      for (const message of told) {
        const generation = readGeneration(message)
        if (generation !== undefined)
          for (const family of families) this.#logs[family].nameProcess(generation.port, generation.process)
        else {
          const family = netfilterFamily(message)
          if (family !== undefined) this.#logs[family].add(portOf(message), message)
        }
      }
  }

  #lose(): void {
    for (const family of families) this.#logs[family].lose()
  }
}
