/** Writes the elements of one set or map into the messages of a batch. */
import { shownValue } from '../../../net/shown-value.ts'
import { BatchWriter } from './batch-writer.ts'
import { writeComment } from './comment-user-data.ts'
import { NftError } from '../nft.ts'
import type { SetDeclaration, SetElement } from '../nft.ts'
import {
  dataField,
  elementField,
  intervalEnd,
  listItem,
  verdictCode,
  verdictField,
} from '../../nf-tables/protocol-numbers.ts'
import { isPrefixTree, prefixEnds } from './prefix-tree.ts'
import { keyCodec, tupleCodec } from './tuple-codec.ts'
import type { TupleCodec } from './tuple-codec.ts'

/** More than any element takes: two keys of 64 bytes, a chain's name of 255 and a comment of 128. */
const largestElementBytes = 1024

export class ElementWriter {
  readonly #set: SetDeclaration
  readonly #keys: TupleCodec
  readonly #values: TupleCodec | undefined
  readonly #isPrefixTree: boolean
  /** Thousands of elements share a few verdicts. */
  readonly #verdicts = new Map<string, Buffer>()

  constructor(set: SetDeclaration) {
    this.#set = set
    this.#keys = keyCodec(set)
    this.#values = Array.isArray(set.value) ? tupleCodec(set.value) : undefined
    this.#isPrefixTree = isPrefixTree(set)
  }

  /** For a deletion, the key is enough. */
  write(batch: BatchWriter, { key, value, comment }: SetElement): void {
    batch.ensureRoom(largestElementBytes)
    if (this.#isPrefixTree) {
      this.#writePrefix(batch, key, comment)
      return
    }
    const element = batch.beginNested(listItem)
    this.#writeKey(batch, key)
    if (value !== undefined) this.#writeValue(batch, key, value)
    if (comment !== undefined && comment !== '') writeComment(batch, elementField.userData, comment)
    batch.endNested(element)
  }

  #writePrefix(batch: BatchWriter, text: string, comment = ''): void {
    const ends = prefixEnds(this.#keys, text)
    if (ends === undefined) throw this.#refusal('key', text)
    const start = beginPrefixElement(batch, ends.start)
    if (comment !== '') writeComment(batch, elementField.userData, comment)
    batch.endNested(start)
    if (ends.behind === undefined) return
    const behind = beginPrefixElement(batch, ends.behind)
    batch.number(elementField.flags, intervalEnd)
    batch.endNested(behind)
  }

  #writeKey(batch: BatchWriter, text: string): void {
    const { bytes } = this.#keys
    const key = batch.beginNested(elementField.key)
    const keyAt = batch.attribute(dataField.value, bytes)
    batch.endNested(key)
    if (this.#set.isInterval !== true) {
      if (!this.#keys.write(text, batch.buffer, keyAt)) throw this.#refusal('key', text)
      return
    }
    const end = batch.beginNested(elementField.keyEnd)
    const endAt = batch.attribute(dataField.value, bytes)
    batch.endNested(end)
    if (!this.#keys.writeRange(text, batch.buffer, keyAt, endAt)) throw this.#refusal('key', text)
  }

  #writeValue(batch: BatchWriter, key: string, text: string): void {
    if (this.#set.value === undefined) throw this.#refusal('key', `${key} : ${text}`)
    if (this.#values === undefined) {
      batch.copy(this.#verdict(key, text))
      return
    }
    const data = batch.beginNested(elementField.data)
    const valueAt = batch.attribute(dataField.value, this.#values.bytes)
    batch.endNested(data)
    if (!this.#values.write(text, batch.buffer, valueAt)) throw this.#refusal('value', text, key)
  }

  #verdict(key: string, text: string): Buffer {
    let attributes = this.#verdicts.get(text)
    if (attributes === undefined) {
      attributes = verdictAttributes(text)
      if (attributes === undefined) throw this.#refusal('value', text, key)
      this.#verdicts.set(text, attributes)
    }
    return attributes
  }

  #refusal(part: 'key' | 'value', text: string, key?: string): NftError {
    const { name, key: keyTypes, value } = this.#set
    const types = part === 'key' || !Array.isArray(value) ? keyTypes : value
    const wanted = part === 'value' && value === 'verdict' ? 'a verdict' : types.join(' . ')
    const place = key === undefined ? name : `${name} at "${key}"`
    return new NftError('refused', `cannot write ${shownValue(text)} as a ${part} of ${place}: it wants ${wanted}`)
  }
}

function beginPrefixElement(batch: BatchWriter, bytes: Buffer): number {
  const element = batch.beginNested(listItem)
  const key = batch.beginNested(elementField.key)
  batch.buffer.set(bytes, batch.attribute(dataField.value, bytes.length))
  batch.endNested(key)
  return element
}

function verdictAttributes(text: string): Buffer | undefined {
  const [, jump, chain, plain] = /^(?:(goto|jump) (\S{1,255})|(drop|accept|continue|return))$/.exec(text) ?? []
  const code = verdictCode[(jump ?? plain) as keyof typeof verdictCode] as number | undefined
  if (code === undefined) return undefined
  const writer = new BatchWriter(largestElementBytes)
  const data = writer.beginNested(elementField.data)
  const verdict = writer.beginNested(dataField.verdict)
  writer.number(verdictField.code, code)
  if (chain !== undefined) writer.text(verdictField.chain, chain)
  writer.endNested(verdict)
  writer.endNested(data)
  return Buffer.from(writer.written())
}
