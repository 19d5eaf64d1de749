/** Reads the elements of a set or map from the kernel. */
import type { Family } from '../../../net/ip.ts'
import { align, attribute, cString, findAttribute } from '../../netlink/attribute.ts'
import type { Slice } from '../../netlink/attribute.ts'
import type { NetlinkMessage } from '../../netlink/message.ts'
import type { NetlinkRequest } from '../../netlink/netlink.ts'
import { netfilterAttributes, netfilterBody } from '../../netlink/nfnetlink.ts'
import {
  counterField,
  dataField,
  elementField,
  elementListField,
  expressionField,
  intervalEnd,
  nftMessage,
  verdictCode,
  verdictField,
} from '../../nf-tables/protocol-numbers.ts'
import { tableName } from '../nft.ts'
import type { FoundElement, SetDeclaration } from '../nft.ts'
import { isPrefixTree, PrefixTree } from './prefix-tree.ts'
import { keyCodec, tupleCodec } from './tuple-codec.ts'
import type { TupleCodec } from './tuple-codec.ts'

export function listElements(family: Family, set: SetDeclaration): NetlinkRequest {
  return {
    doing: `list the elements of ${set.name}`,
    type: nftMessage.getElements,
    body: netfilterBody(
      family,
      attribute(elementListField.table, cString(tableName)),
      attribute(elementListField.set, cString(set.name)),
    ),
  }
}

/** Collects what the messages of a dump hold. */
export class ElementReader {
  readonly #found = new Map<string, FoundElement>()
  readonly #isInterval: boolean
  readonly #keys: TupleCodec
  readonly #values: TupleCodec | undefined
  readonly #prefixes: PrefixTree | undefined

  constructor(set: SetDeclaration) {
    this.#isInterval = set.isInterval === true
    this.#keys = keyCodec(set)
    this.#values = Array.isArray(set.value) ? tupleCodec(set.value) : undefined
    this.#prefixes = isPrefixTree(set) ? new PrefixTree(this.#keys) : undefined
  }

  add(message: NetlinkMessage): void {
    const list = findAttribute(netfilterAttributes(message), elementListField.elements)
    if (list === undefined) return
    const { buffer, to } = list
    for (let at = list.from; at + 4 <= to; at += align(Math.max(4, buffer.readUInt16LE(at))))
      this.#addElement({ buffer, from: at + 4, to: at + buffer.readUInt16LE(at) })
  }

  finish(): ReadonlyMap<string, FoundElement> {
    for (const key of this.#prefixes?.texts() ?? []) this.#found.set(key, { value: '', packets: 0 })
    return this.#found
  }

  #addElement(element: Slice): void {
    const key = valueIn(element, elementField.key)
    // A key of another size: somebody else declared the set. Whoever compares finds everything missing, and replaces it.
    if (key === undefined || key.to - key.from !== this.#keys.bytes) return
    if (this.#prefixes !== undefined) {
      const flags = findAttribute(element, elementField.flags)
      const isEnd = flags !== undefined && (flags.buffer.readUInt32BE(flags.from) & intervalEnd) !== 0
      this.#prefixes.add(key, isEnd)
      return
    }
    this.#found.set(this.#keyText(element, key), { value: this.#valueText(element), packets: packetsOf(element) })
  }

  #keyText(element: Slice, key: Slice): string {
    if (!this.#isInterval) return this.#keys.read(key.buffer, key.from)
    const end = valueIn(element, elementField.keyEnd) ?? key
    return this.#keys.readRange(key.buffer, key.from, end.from)
  }

  #valueText(element: Slice): string {
    const data = findAttribute(element, elementField.data)
    if (data === undefined) return ''
    const verdict = findAttribute(data, dataField.verdict)
    if (verdict !== undefined) return verdictText(verdict)
    const value = findAttribute(data, dataField.value)
    const isWhole = value !== undefined && value.to - value.from === this.#values?.bytes
    return isWhole ? (this.#values?.read(value.buffer, value.from) ?? '') : ''
  }
}

function valueIn(element: Slice, type: number): Slice | undefined {
  const nest = findAttribute(element, type)
  return nest && findAttribute(nest, dataField.value)
}

const verdictNames: ReadonlyMap<number, string> = new Map(
  Object.entries(verdictCode).map(([name, code]) => [code, name]),
)

function verdictText(verdict: Slice): string {
  const code = findAttribute(verdict, verdictField.code)
  const chain = findAttribute(verdict, verdictField.chain)
  const number = code?.buffer.readUInt32BE(code.from) ?? 0
  const name = verdictNames.get(number) ?? String(number)
  // Without its NUL.
  return chain === undefined ? name : `${name} ${chain.buffer.toString('utf8', chain.from, chain.to - 1)}`
}

/** Exact up to 2^53. */
function packetsOf(element: Slice): number {
  const expression =
    findAttribute(element, elementField.expression) ?? firstOf(findAttribute(element, elementField.expressions))
  const data = expression && findAttribute(expression, expressionField.data)
  const packets = data && findAttribute(data, counterField.packets)
  if (packets === undefined) return 0
  return packets.buffer.readUInt32BE(packets.from) * 2 ** 32 + packets.buffer.readUInt32BE(packets.from + 4)
}

function firstOf(list: Slice | undefined): Slice | undefined {
  const item = 1
  return list && findAttribute(list, item)
}
