/** Reads the names of what is in the table from the kernel. */
import type { Family } from '../../../net/ip.ts'
import { attribute, cString, findAttribute, readText, textIn } from '../../netlink/attribute.ts'
import type { Slice } from '../../netlink/attribute.ts'
import type { NetlinkMessage } from '../../netlink/message.ts'
import type { NetlinkRequest } from '../../netlink/netlink.ts'
import { netfilterAttributes, netfilterBody } from '../../netlink/nfnetlink.ts'
import {
  anonymousSet,
  chainField,
  commentUserData,
  nftMessage,
  setField,
  tableField,
} from '../../nf-tables/protocol-numbers.ts'
import { tableName } from '../nft.ts'

export function getTable(family: Family): NetlinkRequest {
  return {
    doing: `find the table ${tableName}`,
    type: nftMessage.getTable,
    body: netfilterBody(family, attribute(tableField.name, cString(tableName))),
  }
}

/** Of all tables of the family: the kernel knows no other filter. */
export function listChains(family: Family): NetlinkRequest {
  return { doing: 'list the chains', type: nftMessage.getChain, body: netfilterBody(family) }
}

export function listSets(family: Family): NetlinkRequest {
  return {
    doing: 'list the sets',
    type: nftMessage.getSet,
    body: netfilterBody(family, attribute(setField.table, cString(tableName))),
  }
}

export function readTableComment(message: NetlinkMessage): string {
  const userData = findAttribute(netfilterAttributes(message), tableField.userData)
  return userData === undefined ? '' : commentIn(userData)
}

/** Undefined for a chain of another table. */
export function readChainName(message: NetlinkMessage): string | undefined {
  const fields = netfilterAttributes(message)
  return textIn(fields, chainField.table) === tableName ? textIn(fields, chainField.name) : undefined
}

/** Undefined for a set that belongs to a rule. */
export function readSetName(message: NetlinkMessage): string | undefined {
  const fields = netfilterAttributes(message)
  const flags = findAttribute(fields, setField.flags)
  const isAnonymous = flags !== undefined && (flags.buffer.readUInt32BE(flags.from) & anonymousSet) !== 0
  return isAnonymous || textIn(fields, setField.table) !== tableName ? undefined : textIn(fields, setField.name)
}

/** User data: u8 type, u8 length, bytes, over and over. */
function commentIn({ buffer, from, to }: Slice): string {
  for (let at = from; at + 2 <= to; at += 2 + (buffer[at + 1] ?? 0))
    if (buffer[at] === commentUserData) return readText({ buffer, from: at + 2, to: at + 2 + (buffer[at + 1] ?? 0) })
  return ''
}
