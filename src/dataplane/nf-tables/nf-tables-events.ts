/**
 * Hears of every change to nf_tables in this network namespace, whoever made it.
 *
 * Listening is not free: for each element of a transaction the kernel keeps a message of four kilobytes until the end.
 * With 250,000 elements that is two gigabytes and as many seconds (Linux 6.18), so nobody may listen during our own
 * large transactions.
 */
import { constants } from 'node:os'
import type { KernelDatagrams } from '../netlink/datagrams.ts'
import { decodeMessages } from '../netlink/message.ts'
import type { NetlinkMessage } from '../netlink/message.ts'
import type { OpenDatagrams } from '../netlink/open-netlink.ts'
import { askGeneration, currentGeneration, notAnswered, portOf, readGeneration } from './generation.ts'
import { changesGroup } from './nf-tables.ts'

/** What came in one datagram. `lost`: there was more than the queue holds, or something that nobody can read. */
export type Told = readonly NetlinkMessage[] | 'lost'

export class NfTablesEvents implements AsyncDisposable {
  readonly #datagrams: KernelDatagrams
  /** By which the answers to our own questions are known. */
  readonly #port: number
  #asked = 0

  private constructor(datagrams: KernelDatagrams, port: number) {
    this.#datagrams = datagrams
    this.#port = port
  }

  /** Listens from now on. Rejects with a NetlinkError where there is no way to. */
  static async open(openDatagrams: OpenDatagrams): Promise<NfTablesEvents> {
    const datagrams = await openDatagrams('netfilter')
    try {
      const { port } = await currentGeneration(datagrams)
      const events = new NfTablesEvents(datagrams, port)
      events.listen()
      return events
    } catch (error) {
      await datagrams.close()
      throw error
    }
  }

  listen(): void {
    this.#datagrams.join(changesGroup)
  }

  stopListening(): void {
    this.#datagrams.leave(changesGroup)
  }

  /** What was told since the last time. */
  async *take(): AsyncGenerator<Told> {
    for (let datagram = await this.#receive(); datagram !== undefined; datagram = await this.#receive())
      yield datagram === 'lost' ? datagram : (decodeMessages(datagram) ?? 'lost')
  }

  /** The same for those who need not know what it was. */
  async skip(): Promise<void> {
    while ((await this.#receive()) !== undefined);
  }

  /** The answer comes through the same queue as the changes, so those are handed over on the way. */
  async generation(hear: (told: Told) => void): Promise<number> {
    const sequence = ++this.#asked
    await this.#datagrams.send(askGeneration(sequence))
    let answer: number | undefined
    for await (const told of this.take()) {
      hear(told)
      if (told !== 'lost') answer ??= this.#answerIn(told, sequence)
    }
    if (answer === undefined) throw notAnswered(undefined)
    return answer
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#datagrams.close()
  }

  #answerIn(messages: readonly NetlinkMessage[], sequence: number): number | undefined {
    const answer = messages.find((message) => message.sequence === sequence && portOf(message) === this.#port)
    return answer && readGeneration(answer)?.id
  }

  async #receive(): Promise<Buffer | 'lost' | undefined> {
    try {
      return await this.#datagrams.receive()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).errno === -constants.errno.ENOBUFS) return 'lost'
      throw error
    }
  }
}
