/** A socket that sends batches and hears what the kernel has against them. */
import { findAttribute, skip } from '../../netlink/attribute.ts'
import type { KernelDatagrams } from '../../netlink/datagrams.ts'
import { messageType, verdictOf } from '../../netlink/message.ts'
import type { NetlinkMessage } from '../../netlink/message.ts'
import { NetlinkError } from '../../netlink/netlink-error.ts'
import type { OpenDatagrams } from '../../netlink/open-netlink.ts'
import { receiveAnswers } from './answers.ts'
import type { Batch } from './batch.ts'
import { currentGeneration } from '../../nf-tables/generation.ts'

export interface BatchError {
  readonly sequence: number
  readonly errno: number
  /** The kernel's own words, often empty. */
  readonly text: string
  /** Of the attribute that is wrong, from the start of the message. */
  readonly offset: number | undefined
}

export class BatchSocket implements AsyncDisposable {
  /** By which the kernel tells whose a change was. */
  readonly port: number
  readonly #datagrams: KernelDatagrams

  private constructor(datagrams: KernelDatagrams, port: number) {
    this.#datagrams = datagrams
    this.port = port
  }

  static async open(openDatagrams: OpenDatagrams): Promise<BatchSocket> {
    const datagrams = await openDatagrams('netfilter')
    try {
      // Any answer carries our port.
      const { port } = await currentGeneration(datagrams)
      return new BatchSocket(datagrams, port)
    } catch (error) {
      await datagrams.close()
      throw error
    }
  }

  /** Empty when the kernel took it. Rejects when nobody knows whether it did. */
  async send(batch: Batch): Promise<readonly BatchError[]> {
    this.#datagrams.makeRoom(batch.bytes.length)
    await this.#datagrams.send(batch.bytes)
    const errors: BatchError[] = []
    let isAnswered = false
    for (const message of await receiveAnswers(this.#datagrams)) {
      const verdict = verdictOf(message)
      if (verdict === undefined) continue
      isAnswered = true
      if (verdict.errno !== 0) errors.push({ ...verdict, sequence: message.sequence, offset: offsetIn(message) })
    }
    if (!isAnswered) throw new NetlinkError('failed', 'the kernel did not answer')
    return errors.sort((left, right) => left.sequence - right.sequence)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#datagrams.close()
  }
}

/** Behind the number of the error and the header of the message that it is about; our sockets ask for no more of it. */
function offsetIn({ type, body }: NetlinkMessage): number | undefined {
  const offsetField = 2
  if (type !== messageType.error) return undefined
  const offset = findAttribute(skip(body, 4 + 16), offsetField)
  return offset?.buffer.readUInt32LE(offset.from)
}
