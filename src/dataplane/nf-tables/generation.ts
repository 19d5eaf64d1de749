/** Each commit to nf_tables, by anybody and to any table of the network namespace, begins a new generation. */
import { findAttribute, textIn } from '../netlink/attribute.ts'
import { encodeMessage, messageFlag } from '../netlink/message.ts'
import type { NetlinkMessage } from '../netlink/message.ts'
import { netfilterAttributes, netfilterBody } from '../netlink/nfnetlink.ts'
import { generationField, nftMessage } from './nf-tables.ts'

export interface Generation {
  readonly id: number
  /** Who began it; in an answer, who asked. */
  readonly process: string
}

export function askGeneration(sequence: number): Buffer {
  return encodeMessage(nftMessage.getGeneration, messageFlag.request, sequence, netfilterBody('unspecified'))
}

/** Undefined for every other message. */
export function readGeneration(message: NetlinkMessage): Generation | undefined {
  if (message.type !== nftMessage.newGeneration) return undefined
  const fields = netfilterAttributes(message)
  const id = findAttribute(fields, generationField.id)
  if (id === undefined) return undefined
  const processId = findAttribute(fields, generationField.processId)
  const nameText = textIn(fields, generationField.processName) ?? 'a process'
  const idText = processId === undefined ? '' : ` (process ${processId.buffer.readUInt32BE(processId.from)})`
  return { id: id.buffer.readUInt32BE(id.from), process: `${nameText}${idText}` }
}

/** The last 16 bits of the generation that the message is of. */
export function shortGenerationOf({ body }: NetlinkMessage): number {
  return body.buffer.readUInt16BE(body.from + 2)
}

/** The port of the socket that a message is for, or in a notification, whose message caused it. */
export function portOf({ body }: NetlinkMessage): number {
  return body.buffer.readUInt32LE(body.from - 4)
}
