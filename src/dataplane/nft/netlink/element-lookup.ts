/** Asks the kernel for single elements: a listing of all of them would be work for each. */
import type { Family } from '../../../net/ip.ts'
import { messageFlag } from '../../netlink/message.ts'
import { BatchWriter } from './batch-writer.ts'
import { ElementWriter } from './element-writer.ts'
import { elementListField, familyNumber, nftMessage } from '../../nf-tables/protocol-numbers.ts'
import { tableName } from '../nft.ts'
import type { SetDeclaration } from '../nft.ts'

/** One message per key: the kernel stops at the first that is not there. The last one asks for an acknowledgement. */
export function encodeLookups(family: Family, set: SetDeclaration, keys: readonly string[]): Buffer {
  const writer = new BatchWriter(keys.length * 160)
  const elements = new ElementWriter(set)
  for (const [index, key] of keys.entries()) {
    const flags = index === keys.length - 1 ? messageFlag.request | messageFlag.ack : messageFlag.request
    writer.beginMessage(nftMessage.getElements, flags, familyNumber[family])
    writer.ensureRoom(4 * set.name.length + 64)
    writer.text(elementListField.table, tableName)
    writer.text(elementListField.set, set.name)
    const list = writer.beginNested(elementListField.elements)
    elements.write(writer, { key })
    writer.endNested(list)
    writer.endMessage()
  }
  return writer.written()
}
