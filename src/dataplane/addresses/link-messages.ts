/** Netlink messages about links and addresses. Everything but IP addresses is in host byte order. */
import { familyOf } from '../../net/ip.ts'
import { attribute, cString, findAttribute, readText, skip, u32 } from '../netlink/attribute.ts'
import { ipBytes, readIp } from '../netlink/ip-bytes.ts'
import { messageFlag } from '../netlink/message.ts'
import type { NetlinkMessage } from '../netlink/message.ts'
import type { NetlinkRequest } from '../netlink/netlink.ts'

const messageType = {
  newLink: 16,
  deleteLink: 17,
  getLink: 18,
  newAddress: 20,
  deleteAddress: 21,
  getAddress: 22,
} as const
const linkField = { name: 3, queueLength: 13, info: 18 } as const
const infoField = { kind: 1 } as const
const addressField = { address: 1, local: 2 } as const
const familyNumber = { ipv4: 2, ipv6: 10 } as const
/** Family, padding, type, index, flags, and a mask of flags to change. */
const linkHeaderBytes = 16
/** Family, prefix length, flags, scope, index of the link. */
const addressHeaderBytes = 8

export interface Link {
  readonly index: number
  readonly name: string
  /** Such as `dummy` or `veth`; empty for real hardware. */
  readonly kind: string
}

export interface IndexedAddress {
  readonly linkIndex: number
  readonly ip: string
  readonly prefixLength: number
}

export function listLinks(): NetlinkRequest {
  return { doing: 'list the links', type: messageType.getLink, body: Buffer.alloc(linkHeaderBytes) }
}

export function findLink(name: string): NetlinkRequest {
  const body = Buffer.concat([Buffer.alloc(linkHeaderBytes), attribute(linkField.name, cString(name))])
  return { doing: `find the link ${name}`, type: messageType.getLink, body }
}

/** Without a queue, and down: nothing is ever sent through it, it only holds addresses. */
export function newDummy(name: string): NetlinkRequest {
  const body = Buffer.concat([
    Buffer.alloc(linkHeaderBytes),
    attribute(linkField.name, cString(name)),
    attribute(linkField.queueLength, u32(0)),
    attribute(linkField.info, attribute(infoField.kind, Buffer.from('dummy'))),
  ])
  const flags = messageFlag.create | messageFlag.exclusive
  return { doing: `create the dummy link ${name}`, type: messageType.newLink, flags, body }
}

export function deleteLink({ name, index }: Link): NetlinkRequest {
  const body = Buffer.alloc(linkHeaderBytes)
  body.writeInt32LE(index, 4)
  return { doing: `remove the link ${name}`, type: messageType.deleteLink, body }
}

export function listAddresses(): NetlinkRequest {
  return { doing: 'list the addresses', type: messageType.getAddress, body: Buffer.alloc(addressHeaderBytes) }
}

export function newAddress(link: Link, ip: string): NetlinkRequest {
  const flags = messageFlag.create | messageFlag.exclusive
  const doing = `give the link ${link.name} the address ${ip}`
  return { doing, type: messageType.newAddress, flags, body: addressBody(link, ip) }
}

export function deleteAddress(link: Link, ip: string): NetlinkRequest {
  const doing = `take the address ${ip} from the link ${link.name}`
  return { doing, type: messageType.deleteAddress, body: addressBody(link, ip) }
}

export function readLink({ type, body }: NetlinkMessage): Link | undefined {
  if (type !== messageType.newLink || body.to - body.from < linkHeaderBytes) return undefined
  const fields = skip(body, linkHeaderBytes)
  const name = findAttribute(fields, linkField.name)
  const info = findAttribute(fields, linkField.info)
  const kind = info && findAttribute(info, infoField.kind)
  if (name === undefined) return undefined
  return { index: body.buffer.readInt32LE(body.from + 4), name: readText(name), kind: kind ? readText(kind) : '' }
}

export function readAddress({ type, body }: NetlinkMessage): IndexedAddress | undefined {
  if (type !== messageType.newAddress || body.to - body.from < addressHeaderBytes) return undefined
  const fields = skip(body, addressHeaderBytes)
  // On a point-to-point link `address` is the address of the other end.
  const ip = findAttribute(fields, addressField.local) ?? findAttribute(fields, addressField.address)
  if (ip === undefined || (ip.to - ip.from !== 4 && ip.to - ip.from !== 16)) return undefined
  return {
    linkIndex: body.buffer.readInt32LE(body.from + 4),
    ip: readIp(ip),
    prefixLength: body.buffer.readUInt8(body.from + 1),
  }
}

function addressBody({ index }: Link, ip: string): Buffer {
  const family = familyOf(ip)
  const header = Buffer.alloc(addressHeaderBytes)
  header.writeUInt8(familyNumber[family], 0)
  header.writeUInt8(family === 'ipv4' ? 32 : 128, 1)
  header.writeInt32LE(index, 4)
  const bytes = ipBytes(ip)
  return Buffer.concat([header, attribute(addressField.local, bytes), attribute(addressField.address, bytes)])
}
