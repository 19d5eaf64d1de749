/** The rules of a netlink conversation: sequence numbers, acknowledgements, multipart answers, interrupted dumps. */
import { constants } from 'node:os'
import type { Datagrams } from './datagrams.ts'
import { decodeMessages, encodeMessage, messageFlag, verdictOf } from './message.ts'
import type { NetlinkMessage, Verdict } from './message.ts'
import { NetlinkError, netlinkErrorFrom } from './netlink-error.ts'
import type { Netlink, NetlinkRequest } from './netlink.ts'

export class NetlinkSocket implements Netlink {
  readonly #datagrams: Datagrams
  #lastSequence = 0
  #state: 'idle' | 'talking' | 'closed' = 'idle'

  constructor(datagrams: Datagrams) {
    this.#datagrams = datagrams
  }

  async request(request: NetlinkRequest, signal: AbortSignal): Promise<readonly NetlinkMessage[]> {
    const data: NetlinkMessage[] = []
    let end: Verdict | undefined
    for await (const { message, verdict } of this.#eachAnswer([request], messageFlag.ack, signal))
      if (verdict === undefined) data.push(message)
      else end = verdict
    assertSuccess(end, request)
    return data
  }

  async *dump(request: NetlinkRequest, signal: AbortSignal): AsyncGenerator<readonly NetlinkMessage[]> {
    let end: Verdict | undefined
    let isInterrupted = false
    for await (const messages of this.#talk([request], messageFlag.dump, signal)) {
      const data: NetlinkMessage[] = []
      for (const message of messages) {
        isInterrupted ||= (message.flags & messageFlag.dumpInterrupted) !== 0
        const verdict = verdictOf(message)
        if (verdict === undefined) data.push(message)
        else end = verdict
      }
      if (data.length > 0) yield data
    }
    assertSuccess(end, request)
    if (isInterrupted) throw netlinkErrorFrom(constants.errno.EINTR, request.doing)
  }

  async batch(requests: readonly NetlinkRequest[], signal: AbortSignal): Promise<ReadonlyMap<number, NetlinkError>> {
    const errorsByIndex = new Map<number, NetlinkError>()
    if (requests.length === 0) return errorsByIndex
    const first = this.#lastSequence + 1
    let isAnswered = false
    for await (const { message, verdict } of this.#eachAnswer(requests, 0, signal)) {
      if (verdict === undefined) continue
      isAnswered = true
      const index = message.sequence - first
      const doing = requests[index]?.doing ?? ''
      if (verdict.errno !== 0) errorsByIndex.set(index, netlinkErrorFrom(verdict.errno, doing, verdict.text))
    }
    if (!isAnswered) throw noAnswer(requests[0]?.doing ?? '')
    return errorsByIndex
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    await this.#datagrams.close()
  }

  async *#eachAnswer(
    requests: readonly NetlinkRequest[],
    flags: number,
    signal: AbortSignal,
  ): AsyncGenerator<{ readonly message: NetlinkMessage; readonly verdict: Verdict | undefined }> {
    for await (const messages of this.#talk(requests, flags, signal))
      for (const message of messages) yield { message, verdict: verdictOf(message) }
  }

  /** Sends the requests, and yields the answers to them, datagram by datagram, up to the verdict on the last request. */
  async *#talk(
    requests: readonly NetlinkRequest[],
    flags: number,
    signal: AbortSignal,
  ): AsyncGenerator<readonly NetlinkMessage[]> {
    signal.throwIfAborted()
    const doing = requests[0]?.doing ?? ''
    if (this.#state === 'closed')
      throw new NetlinkError('closed', `cannot ${doing}: the socket is closed; open another`)
    if (this.#state === 'talking') throw new NetlinkError('busy', `cannot ${doing}: the socket is in use; open another`)
    this.#state = 'talking'
    const first = this.#lastSequence + 1
    const last = (this.#lastSequence += requests.length)
    let isOver = false
    try {
      await this.#guard(doing, this.#datagrams.send(encodeRequests(requests, flags, first)))
      while (!isOver) {
        signal.throwIfAborted()
        const datagram = await this.#guard(doing, this.#datagrams.receive())
        if (datagram === undefined) {
          isOver = true
          return
        }
        const messages = decodeMessages(datagram)
        if (messages === undefined)
          throw new NetlinkError(
            'failed',
            `cannot ${doing}: an answer of ${datagram.length} bytes is cut off or garbled`,
          )
        // Others are answers to an earlier request whose caller did not read them all.
        const ours = messages.filter(({ sequence }) => sequence >= first && sequence <= last)
        isOver = ours.some((message) => message.sequence === last && verdictOf(message) !== undefined)
        yield ours
      }
    } finally {
      // If the caller stops early, answers stay in the queue, so the socket cannot be used again.
      if (isOver) this.#state = 'idle'
      else await this[Symbol.asyncDispose]()
    }
  }

  async #guard<T>(doing: string, work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (cause) {
      const { errno } = cause as NodeJS.ErrnoException
      // Node's errno is negative.
      throw errno === undefined ? cause : netlinkErrorFrom(-errno, doing, '', { cause })
    }
  }
}

function encodeRequests(requests: readonly NetlinkRequest[], flags: number, firstSequence: number): Buffer {
  return Buffer.concat(
    requests.map(({ type, flags: own = 0, body }, index) => {
      const ack = index === requests.length - 1 && flags !== messageFlag.dump ? messageFlag.ack : 0
      return encodeMessage(type, messageFlag.request | flags | own | ack, firstSequence + index, body)
    }),
  )
}

function assertSuccess(end: Verdict | undefined, { doing }: NetlinkRequest): void {
  if (end === undefined) throw noAnswer(doing)
  if (end.errno !== 0) throw netlinkErrorFrom(end.errno, doing, end.text)
}

function noAnswer(doing: string): NetlinkError {
  return new NetlinkError('failed', `cannot ${doing}: the kernel's answer ends too early`)
}
