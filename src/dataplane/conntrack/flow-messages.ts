/** Netlink messages about flows in the connection table. */
import type { FlowDirection } from '../../core/sync/stale-flows.ts'
import { familyOf, hostPort } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { attribute, be16, be32, findAttribute, nested, u8 } from '../netlink/attribute.ts'
import type { Slice } from '../netlink/attribute.ts'
import { ipBytes, readIp } from '../netlink/ip-bytes.ts'
import type { NetlinkMessage } from '../netlink/message.ts'
import type { NetlinkRequest } from '../netlink/netlink.ts'
import { netfilterAttributes, netfilterBody, netfilterFamily, netfilterType } from '../netlink/nfnetlink.ts'
import type { TrackedFlow } from './conntrack.ts'

const command = { get: 1, delete: 2 } as const
const field = { original: 1, reply: 2, id: 12, zone: 18 } as const
const tuple = { ip: 1, protocol: 2, zone: 3 } as const
const address = { v4Source: 1, v4Destination: 2, v6Source: 3, v6Destination: 4 } as const
const protocol = { number: 1, sourcePort: 2, destinationPort: 3 } as const

export const udp = 17

/**
 * Asks for every flow of every protocol and family, on purpose. The kernel could filter. But it searches until a datagram
 * is full, with packet processing switched off on that processor. A filter that lets few flows of a large table pass would
 * stop the network on one processor for 40 ms per 125,000 flows (measured on Linux 6.18).
 */
export function listFlows(): NetlinkRequest {
  return {
    doing: 'list the tracked flows',
    type: netfilterType('conntrack', command.get),
    body: netfilterBody('unspecified'),
  }
}

/**
 * Names the flow by its reply direction and its number. The original direction is not enough: a flow that began again
 * with another endpoint has the same one. It may even have the same number, because that is a hash of the original
 * direction and of the entry's memory address, which the kernel reuses (seen on Linux 6.18). Reply and number together
 * are exact. There must always be a tuple: without one, the kernel deletes everything.
 */
export function deleteFlow(flow: TrackedFlow): NetlinkRequest {
  const { original, reply, id, zone = 0 } = flow
  return {
    doing: `delete the flow to ${hostPort(original.destinationIp, original.destinationPort)}`,
    type: netfilterType('conntrack', command.delete),
    body: netfilterBody(
      familyOf(reply.sourceIp),
      encodeTuple(field.reply, flow.protocol, reply),
      ...(id === undefined ? [] : [attribute(field.id, be32(id))]),
      ...(zone === 0 ? [] : [attribute(field.zone, be16(zone))]),
    ),
  }
}

export function encodeTuple(type: number, protocolNumber: number, direction: FlowDirection): Buffer {
  const isV4 = familyOf(direction.sourceIp) === 'ipv4'
  return nested(
    type,
    nested(
      tuple.ip,
      attribute(isV4 ? address.v4Source : address.v6Source, ipBytes(direction.sourceIp)),
      attribute(isV4 ? address.v4Destination : address.v6Destination, ipBytes(direction.destinationIp)),
    ),
    nested(
      tuple.protocol,
      attribute(protocol.number, u8(protocolNumber)),
      attribute(protocol.sourcePort, be16(direction.sourcePort)),
      attribute(protocol.destinationPort, be16(direction.destinationPort)),
    ),
  )
}

/** Checks the family and the protocol before it reads the rest, because most flows of a node are TCP. */
export function readUdpFlow(message: NetlinkMessage, family: Family): TrackedFlow | undefined {
  if (netfilterFamily(message) !== family) return undefined
  const fields = netfilterAttributes(message)
  const originalTuple = findAttribute(fields, field.original)
  if (originalTuple === undefined || protocolOf(originalTuple) !== udp) return undefined
  const replyTuple = findAttribute(fields, field.reply)
  const original = readDirection(originalTuple)
  const reply = replyTuple && readDirection(replyTuple)
  if (original === undefined || reply === undefined) return undefined
  const id = findAttribute(fields, field.id)
  // A zone for one direction only is part of that direction.
  const zone = findAttribute(fields, field.zone) ?? (replyTuple && findAttribute(replyTuple, tuple.zone))
  return {
    protocol: udp,
    original,
    reply,
    id: id?.buffer.readUInt32BE(id.from),
    zone: zone?.buffer.readUInt16BE(zone.from),
  }
}

function protocolOf(direction: Slice): number | undefined {
  const protocolPart = findAttribute(direction, tuple.protocol)
  const number = protocolPart && findAttribute(protocolPart, protocol.number)
  return number?.buffer[number.from]
}

function readDirection(direction: Slice): FlowDirection | undefined {
  const ip = findAttribute(direction, tuple.ip)
  const ports = findAttribute(direction, tuple.protocol)
  if (ip === undefined || ports === undefined) return undefined
  const source = findAttribute(ip, address.v4Source) ?? findAttribute(ip, address.v6Source)
  const destination = findAttribute(ip, address.v4Destination) ?? findAttribute(ip, address.v6Destination)
  const sourcePort = findAttribute(ports, protocol.sourcePort)
  const destinationPort = findAttribute(ports, protocol.destinationPort)
  if (source === undefined || destination === undefined) return undefined
  if (sourcePort === undefined || destinationPort === undefined) return undefined
  return {
    sourceIp: readIp(source),
    sourcePort: sourcePort.buffer.readUInt16BE(sourcePort.from),
    destinationIp: readIp(destination),
    destinationPort: destinationPort.buffer.readUInt16BE(destinationPort.from),
  }
}
