/**
 * Hears of every change to nf_tables in this network namespace.
 *
 * Listening is not free: for each element of a transaction the kernel keeps a message of four kilobytes until the end.
 * With 250,000 elements that is two gigabytes and as many seconds (Linux 6.18), so nobody may listen during our own
 * large transactions. Therefore the families of a process share one listener.
 */
import { constants } from 'node:os'
import type { Family } from '../../net/ip.ts'
import { families } from '../../net/ip.ts'
import { OneAtATime } from '../../core/one-at-a-time.ts'
import type { KernelDatagrams } from '../netlink/datagrams.ts'
import { decodeMessages } from '../netlink/message.ts'
import { NetlinkError } from '../netlink/netlink-error.ts'
import { netfilterFamily } from '../netlink/nfnetlink.ts'
import type { OpenDatagrams } from '../netlink/open-netlink.ts'
import { ChangeLog } from './change-log.ts'
import { askGeneration, portOf, readGeneration } from '../nf-tables/generation.ts'
import { changesGroup } from '../nf-tables/nf-tables.ts'
import type { ForeignChange } from './nft.ts'

export class NftEvents implements AsyncDisposable {
  readonly #datagrams: KernelDatagrams
  readonly #queue = new OneAtATime()
  readonly #logs: Readonly<Record<Family, ChangeLog>> = { ipv4: new ChangeLog(), ipv6: new ChangeLog() }
  #port = 0
  #asked = 0
  #answered = 0
  /** The last that the kernel told us when we asked. */
  #generation = 0
  /** How many large transactions are under way, during which nobody listens. */
  #deafness = 0
  #generationBefore = 0
  #commitsWhileDeaf = 0

  private constructor(datagrams: KernelDatagrams) {
    this.#datagrams = datagrams
  }

  /** Rejects with a NetlinkError where there is no way to listen. */
  static async open(openDatagrams: OpenDatagrams): Promise<NftEvents> {
    const events = new NftEvents(await openDatagrams('netfilter'))
    try {
      await events.#askGeneration()
      events.#datagrams.join(changesGroup)
      return events
    } catch (error) {
      await events[Symbol.asyncDispose]()
      throw error
    }
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
    return this.#datagrams.close()
  }

  async #stopListening(): Promise<void> {
    if (this.#deafness++ > 0) return
    // Asked before we stop, and again after we have started: a commit in between is counted twice rather than never.
    await this.#askGeneration()
    this.#generationBefore = this.#generation
    this.#commitsWhileDeaf = 0
    this.#datagrams.leave(changesGroup)
  }

  async #listenAgain(): Promise<void> {
    if (--this.#deafness > 0) return
    this.#datagrams.join(changesGroup)
    await this.#askGeneration()
    if ((this.#generation - this.#generationBefore) >>> 0 !== this.#commitsWhileDeaf) this.#lose()
  }

  /** The answer comes through the same queue as the changes, so those are read on the way. */
  async #askGeneration(): Promise<void> {
    await this.#datagrams.send(askGeneration(++this.#asked))
    await this.#drain()
    if (this.#answered !== this.#asked) throw new NetlinkError('unsupported', 'cannot read the generation of nf_tables')
  }

  async #drain(): Promise<void> {
    for (;;) {
      const datagram = await this.#receive()
      if (datagram === 'none') return
      if (datagram === 'lost') this.#lose()
      else this.#read(datagram)
    }
  }

  async #receive(): Promise<Buffer | 'none' | 'lost'> {
    try {
      return (await this.#datagrams.receive()) ?? 'none'
    } catch (error) {
      // There were more changes than the queue holds.
      if ((error as NodeJS.ErrnoException).errno === -constants.errno.ENOBUFS) return 'lost'
      throw error
    }
  }

  #read(datagram: Buffer): void {
    for (const message of decodeMessages(datagram) ?? []) {
      const generation = readGeneration(message)
      const port = portOf(message)
      if (generation === undefined) {
        const family = netfilterFamily(message)
        if (family !== undefined) this.#logs[family].add(port, message)
      } else if (this.#answered === 0 || port === this.#port) {
        // The first is the answer to our first question: we do not listen yet.
        this.#port = port
        this.#answered = message.sequence
        this.#generation = generation.id
      } else for (const family of families) this.#logs[family].nameProcess(port, generation.process)
    }
  }

  #lose(): void {
    for (const family of families) this.#logs[family].lose()
  }
}
