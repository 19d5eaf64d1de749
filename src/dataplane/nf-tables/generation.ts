/** Each commit to nf_tables, by any program and to any table of the network namespace, begins a new generation. */
import { constants } from 'node:os'
import { findAttribute, textIn } from '../netlink/attribute.ts'
import type { Datagrams } from '../netlink/datagrams.ts'
import { decodeMessages, encodeMessage, messageFlag, verdictOf } from '../netlink/message.ts'
import type { NetlinkMessage } from '../netlink/message.ts'
import { NetlinkError } from '../netlink/netlink-error.ts'
import { netfilterAttributes, netfilterBody } from '../netlink/nfnetlink.ts'
import { generationField, nftMessage } from './protocol-numbers.ts'

export interface Generation {
  readonly id: number
  /** The process that began it; in an answer to `askGeneration`, the process that asked. */
  readonly process: string
  /** The netlink port of that process' socket. */
  readonly port: number
}

/** The socket must not listen to events. Rejects with a NetlinkError where the kernel does not answer. */
export async function currentGeneration(datagrams: Datagrams): Promise<Generation> {
  await datagrams.send(askGeneration(1))
  // The kernel answers in one message, before `send` is done.
  const datagram = await datagrams.receive()
  const [answer] = (datagram && decodeMessages(datagram)) ?? []
  const generation = answer && readGeneration(answer)
  if (generation === undefined) throw notAnswered(answer && verdictOf(answer)?.errno)
  return generation
}

export function notAnswered(errno: number | undefined): NetlinkError {
  return new NetlinkError(
    errno === constants.errno.EPERM || errno === constants.errno.EACCES ? 'not-permitted' : 'unsupported',
    `cannot read the generation of nf_tables (errno ${errno ?? 'unknown'}): it needs CAP_NET_ADMIN and nf_tables`,
    errno === undefined ? {} : { errno },
  )
}

export function askGeneration(sequence: number): Buffer {
  return encodeMessage(nftMessage.getGeneration, messageFlag.request, sequence, netfilterBody('unspecified'))
}

/** Returns nothing for other messages. */
export function readGeneration(message: NetlinkMessage): Generation | undefined {
  if (message.type !== nftMessage.newGeneration) return undefined
  const fields = netfilterAttributes(message)
  const id = findAttribute(fields, generationField.id)
  if (id === undefined) return undefined
  const processId = findAttribute(fields, generationField.processId)
  const nameText = textIn(fields, generationField.processName) ?? 'a process'
  const idText = processId === undefined ? '' : ` (process ${processId.buffer.readUInt32BE(processId.from)})`
  return { id: id.buffer.readUInt32BE(id.from), process: `${nameText}${idText}`, port: portOf(message) }
}

/** The last 16 bits of the id. */
export function shortGenerationOf({ body }: NetlinkMessage): number {
  return body.buffer.readUInt16BE(body.from + 2)
}

/** The port of the socket that a message is for; in an event, of the socket that made the change. */
export function portOf({ body }: NetlinkMessage): number {
  return body.buffer.readUInt32LE(body.from - 4)
}
