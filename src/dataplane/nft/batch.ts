/** A transaction as one netlink datagram, for the operations that nf_tables takes without the help of nft. */
import type { Family } from '../../net/ip.ts'
import { messageFlag } from '../netlink/message.ts'
import { BatchWriter } from './batch-writer.ts'
import { ElementWriter } from './element-writer.ts'
import { batchMessage, chainField, elementListField, nftMessage, ruleField, setField } from './nf-tables.ts'
import { describePlace } from './message-place.ts'
import type { MessagePlace, PlainOperation } from './message-place.ts'
import { tableName } from './nft.ts'
import type { NftOperation, NftTransaction, SetDeclaration, SetElement } from './nft.ts'

export interface Batch {
  readonly bytes: Buffer
  /** The number of the last message between the bounds, which asks for an acknowledgement. */
  readonly lastSequence: number
  readonly isEmpty: boolean
  /** What the message was to do; `offset` points at an attribute in it, where the kernel knows which is wrong. */
  describe(sequence: number, offset?: number): string
}

/** `check`: without its end a batch is looked at and then taken back. */
export type BatchPurpose = 'commit' | 'check'

/** An attribute, and so the list of elements in a message, has at most 65,535 bytes. */
const elementBytesPerMessage = 60_000
/**
 * The kernel reports one error per message. So few elements have a message each, and all that are wrong are named; many
 * share, which makes the kernel's work a third faster.
 */
const fewElements = 1000

/** Undefined when it holds an operation that takes nft. */
export function encodeBatch(family: Family, transaction: NftTransaction, purpose: BatchPurpose): Batch | undefined {
  if (!transaction.every(isPlain)) return undefined
  const elementCount = countElements(transaction)
  const encoder = new BatchEncoder(family, elementCount)
  for (const operation of transaction) encoder.add(operation)
  return encoder.finish(purpose)
}

/** How many elements it adds or deletes. */
export function countElements(transaction: NftTransaction): number {
  let count = 0
  for (const operation of transaction)
    if (operation.do === 'add elements') count += operation.elements.length
    else if (operation.do === 'delete elements') count += operation.keys.length
  return count
}

function isPlain(operation: NftOperation): operation is PlainOperation {
  if (operation.do === 'add elements' || operation.do === 'delete elements') return !isPrefixTree(operation.set)
  return operation.do === 'flush chain' || operation.do === 'delete chain' || operation.do === 'delete set'
}

/** The kernel keeps lone prefixes as a sorted list of starts and ends, and leaves it to nft to keep that in order. */
function isPrefixTree({ key, isInterval }: SetDeclaration): boolean {
  return isInterval === true && key.length === 1
}

class BatchEncoder {
  readonly #writer: BatchWriter
  readonly #family: number
  readonly #elementCount: number
  /** By sequence number, from that of the message after the beginning of the batch. */
  readonly #places: MessagePlace[] = []

  constructor(family: Family, elementCount: number) {
    this.#writer = new BatchWriter(4096 + elementCount * 160)
    this.#family = family === 'ipv4' ? 2 : 10
    this.#elementCount = elementCount
    this.#writer.beginMessage(batchMessage.begin, messageFlag.request, 0, batchMessage.subsystem)
    this.#writer.endMessage()
  }

  add(operation: NftOperation): void {
    if (!isPlain(operation)) return
    switch (operation.do) {
      case 'flush chain':
        return this.#addNamed(nftMessage.deleteRule, operation, ruleField.chain, operation.name)
      case 'delete chain':
        return this.#addNamed(nftMessage.deleteChain, operation, chainField.name, operation.name)
      case 'delete set':
        return this.#addNamed(nftMessage.deleteSet, operation, setField.name, operation.set.name)
      case 'add elements':
        return this.#addElements(operation, operation.elements, (element) => element)
      case 'delete elements':
        return this.#addElements(operation, operation.keys, (key) => ({ key }))
      default:
        operation satisfies never
    }
  }

  finish(purpose: BatchPurpose): Batch {
    const writer = this.#writer
    const places = this.#places
    const last = places.at(-1)
    if (last !== undefined) writer.addFlags(last.at, messageFlag.ack)
    const lastSequence = writer.sequence
    if (purpose === 'commit') {
      writer.beginMessage(batchMessage.end, messageFlag.request, 0, batchMessage.subsystem)
      writer.endMessage()
    }
    const bytes = writer.written()
    const firstSequence = lastSequence - places.length + 1
    return {
      bytes,
      lastSequence,
      isEmpty: places.length === 0,
      describe: (sequence, offset) => describePlace(bytes, places[sequence - firstSequence], offset),
    }
  }

  #addNamed(type: number, operation: PlainOperation, nameField: number, name: string): void {
    this.#begin(type, 0, operation, 0)
    this.#writer.ensureRoom(2 * name.length + 64)
    this.#writer.text(chainField.table, tableName)
    this.#writer.text(nameField, name)
    this.#writer.endMessage()
  }

  #addElements<T>(
    operation: PlainOperation & { readonly set: SetDeclaration },
    items: readonly T[],
    elementOf: (item: T) => SetElement,
  ): void {
    const writer = this.#writer
    const elements = new ElementWriter(operation.set)
    const isAdding = operation.do === 'add elements'
    const type = isAdding ? nftMessage.newElements : nftMessage.deleteElements
    const bytesPerMessage = this.#elementCount <= fewElements ? 0 : elementBytesPerMessage
    let next = 0
    while (next < items.length) {
      const place = this.#begin(type, isAdding ? messageFlag.create : 0, operation, next)
      writer.ensureRoom(2 * operation.set.name.length + 64)
      writer.text(elementListField.table, tableName)
      writer.text(elementListField.set, operation.set.name)
      const list = writer.beginNested(elementListField.elements)
      do elements.write(writer, elementOf(items[next++] as T))
      while (next < items.length && writer.at - list < bytesPerMessage)
      writer.endNested(list)
      writer.endMessage()
      place.elementCount = next - place.firstElement
    }
  }

  #begin(type: number, flags: number, operation: PlainOperation, firstElement: number): MessagePlace {
    const place = { at: this.#writer.at, operation, firstElement, elementCount: 0 }
    this.#places.push(place)
    this.#writer.beginMessage(type, messageFlag.request | flags, this.#family)
    return place
  }
}
