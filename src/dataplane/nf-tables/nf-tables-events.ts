/**
 * Receives the events of every change to nf_tables in this network namespace, also by other programs.
 *
 * Listening is not free: for each element of a transaction the kernel keeps a message of four kilobytes until the end.
 * With 250,000 elements that takes two gigabytes and two seconds (Linux 6.18). So stop listening during our own large
 * transactions.
 */
import { constants } from 'node:os'
import type { KernelDatagrams } from '../netlink/datagrams.ts'
import { decodeMessages } from '../netlink/message.ts'
import type { NetlinkMessage } from '../netlink/message.ts'
import type { OpenDatagrams } from '../netlink/open-netlink.ts'
import { askGeneration, currentGeneration, notAnswered, portOf, readGeneration } from './generation.ts'
import { changesGroup } from './protocol-numbers.ts'

/** The messages of one datagram. `lost`: the queue was full, or a datagram could not be decoded. */
export type Told = readonly NetlinkMessage[] | 'lost'

export class NfTablesEvents implements AsyncDisposable {
  readonly #datagrams: KernelDatagrams
  /** The port of our own socket, to recognize the answers to our own requests. */
  readonly #port: number
  #asked = 0

  private constructor(datagrams: KernelDatagrams, port: number) {
    this.#datagrams = datagrams
    this.#port = port
  }

  /** Listens from now on. Rejects with a NetlinkError where that does not work. */
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

  /** The events since the last call. */
  async *take(): AsyncGenerator<Told> {
    for (let datagram = await this.#receive(); datagram !== undefined; datagram = await this.#receive())
      yield datagram === 'lost' ? datagram : (decodeMessages(datagram) ?? 'lost')
  }

  /** Drops the events since the last call. */
  async skip(): Promise<void> {
    while ((await this.#receive()) !== undefined);
  }

  /** The answer comes through the same queue as the events, so `hear` gets the events before it. */
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
