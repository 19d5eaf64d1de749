/** From a message of a batch back to what it was to do: errors name messages, people want to read keys. */
import { align, findAttribute } from '../../netlink/attribute.ts'
import { elementListField } from '../../nf-tables/protocol-numbers.ts'
import type { Family } from '../../../net/ip.ts'
import type { NftOperation } from '../nft.ts'
import { renderRule } from '../render-rule.ts'

/** Those that a batch can hold. */
export type PlainOperation = Extract<
  NftOperation,
  {
    readonly do:
      'add chain' | 'flush chain' | 'delete chain' | 'add rule' | 'delete set' | 'add elements' | 'delete elements'
  }
>

export interface MessagePlace {
  /** Where it starts in the batch. */
  readonly at: number
  readonly operation: PlainOperation
  /** Index of its first element in the operation. */
  readonly firstElement: number
  elementCount: number
}

const headerBytes = 20

/** `offset`, from the start of the message, points at the attribute that is wrong, where the kernel knows which. */
export function describePlace(
  batch: Buffer,
  family: Family,
  place: MessagePlace | undefined,
  offset: number | undefined,
): string {
  if (place === undefined) return 'the transaction as a whole'
  const { operation } = place
  switch (operation.do) {
    case 'add chain':
      return `"add chain ${operation.chain.name}"`
    case 'flush chain':
    case 'delete chain':
      return `"${operation.do} ${operation.name}"`
    case 'add rule':
      return `"add rule ${operation.chain} ${renderRule(operation.rule, family)}"`
    case 'delete set':
      return `"delete set ${operation.set.name}"`
    case 'add elements':
      return elementText('add', operation.set.name, operation.elements[wrongElement(batch, place, offset)]?.key)
    case 'delete elements':
      return elementText('delete', operation.set.name, operation.keys[wrongElement(batch, place, offset)])
    default:
      return operation satisfies never
  }
}

function elementText(verb: string, set: string, key: string | undefined): string {
  return `"${verb} element of ${set}"${key === undefined ? '' : ` with "${key}"`}`
}

/** Its index in the operation; -1 when nobody knows. */
function wrongElement(batch: Buffer, place: MessagePlace, offset: number | undefined): number {
  if (offset === undefined) return place.elementCount === 1 ? place.firstElement : -1
  const message = { buffer: batch, from: place.at + headerBytes, to: place.at + batch.readUInt32LE(place.at) }
  const list = findAttribute(message, elementListField.elements)
  if (list === undefined) return -1
  let index = place.firstElement
  if (place.at + offset < list.from) return -1
  if (place.elementCount === 1) return index
  for (let at = list.from; at < list.to; at += align(batch.readUInt16LE(at)), index++)
    if (place.at + offset < at + batch.readUInt16LE(at)) return index
  return -1
}
