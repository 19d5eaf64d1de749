/** A transaction as one netlink datagram, for the operations that nf_tables takes without the help of nft. */
import type { Family } from '../../../net/ip.ts'
import { messageFlag } from '../../netlink/message.ts'
import { BatchWriter } from './batch-writer.ts'
import { writeComment } from './comment-user-data.ts'
import { ElementWriter } from './element-writer.ts'
import {
  batchMessage,
  chainField,
  elementListField,
  familyNumber,
  nftMessage,
  ruleField,
  setField,
} from '../../nf-tables/protocol-numbers.ts'
import { describePlace } from './message-place.ts'
import type { MessagePlace, PlainOperation } from './message-place.ts'
import { tableName } from '../nft.ts'
import type { NftOperation, NftTransaction, SetDeclaration, SetElement } from '../nft.ts'
import { asPickRule, writePickRule } from './pick-rule.ts'
import { isPrefixTree } from './prefix-tree.ts'

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
 * share, which halves the datagram, and the kernel need not search for the set each time.
 */
const fewElements = 1000

/** Undefined when it holds an operation that takes nft. */
export function encodeBatch(family: Family, transaction: NftTransaction, purpose: BatchPurpose): Batch | undefined {
  if (!transaction.every(isPlain)) return undefined
  const encoder = new BatchEncoder(family, countChanges(transaction))
  for (const operation of transaction) encoder.add(operation)
  return encoder.finish(purpose)
}

/** How many elements, chains, sets and rules it is about. */
export function countChanges(transaction: NftTransaction): number {
  let count = 0
  for (const operation of transaction)
    if (operation.do === 'add elements') count += operation.elements.length
    else count += operation.do === 'delete elements' ? operation.keys.length : 1
  return count
}

function isPlain(operation: NftOperation): operation is PlainOperation {
  if (operation.do === 'add chain') return operation.chain.hook === undefined
  if (operation.do === 'add rule') return asPickRule(operation.rule) !== undefined
  return plainOperations.has(operation.do)
}

const plainOperations: ReadonlySet<NftOperation['do']> = new Set<PlainOperation['do']>([
  'flush chain',
  'delete chain',
  'delete set',
  'add elements',
  'delete elements',
])

class BatchEncoder {
  readonly #writer: BatchWriter
  readonly #familyName: Family
  readonly #family: number
  readonly #changeCount: number
  /** By sequence number, from that of the message after the beginning of the batch. */
  readonly #places: MessagePlace[] = []

  constructor(family: Family, changeCount: number) {
    this.#writer = new BatchWriter(4096 + changeCount * 160)
    this.#familyName = family
    this.#family = familyNumber[family]
    this.#changeCount = changeCount
    this.#writer.beginMessage(batchMessage.begin, messageFlag.request, 0, batchMessage.subsystem)
    this.#writer.endMessage()
  }

  add(operation: NftOperation): void {
    if (!isPlain(operation)) return
    switch (operation.do) {
      case 'add chain':
        return this.#addChain(operation)
      case 'add rule':
        return this.#addRule(operation)
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
    const family = this.#familyName
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
      describe: (sequence, offset) => describePlace(bytes, family, places[sequence - firstSequence], offset),
    }
  }

  #addChain(operation: PlainOperation & { readonly do: 'add chain' }): void {
    const { name, comment } = operation.chain
    this.#begin(nftMessage.newChain, messageFlag.create, operation, 0)
    this.#writer.ensureRoom(4 * (name.length + comment.length) + 64)
    this.#writer.text(chainField.table, tableName)
    this.#writer.text(chainField.name, name)
    if (comment !== '') writeComment(this.#writer, chainField.userData, comment)
    this.#writer.endMessage()
  }

  #addRule(operation: PlainOperation & { readonly do: 'add rule' }): void {
    const rule = asPickRule(operation.rule)
    if (rule === undefined) return
    this.#begin(nftMessage.newRule, messageFlag.create | messageFlag.append, operation, 0)
    this.#writer.ensureRoom(4 * operation.chain.length + 64)
    this.#writer.text(ruleField.table, tableName)
    this.#writer.text(ruleField.chain, operation.chain)
    writePickRule(this.#writer, rule, this.#familyName)
    this.#writer.endMessage()
  }

  #addNamed(type: number, operation: PlainOperation, nameField: number, name: string): void {
    this.#begin(type, 0, operation, 0)
    this.#writer.ensureRoom(4 * name.length + 64)
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
    const isAlone = this.#changeCount <= fewElements || isPrefixTree(operation.set)
    const bytesPerMessage = isAlone ? 0 : elementBytesPerMessage
    let next = 0
    while (next < items.length) {
      const place = this.#begin(type, isAdding ? messageFlag.create : 0, operation, next)
      writer.ensureRoom(4 * operation.set.name.length + 64)
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
