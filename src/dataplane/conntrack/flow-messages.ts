/** Netlink messages about flows in the connection table. */
import { isOpenTcpState } from '../../core/open-connections.ts'
import type { TrackedConnection } from '../../core/open-connections.ts'
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
const field = {
  original: 1,
  reply: 2,
  protocolInfo: 4,
  originalCounters: 9,
  replyCounters: 10,
  id: 12,
  zone: 18,
} as const
const tcpInfo = { tcp: 1, state: 1 } as const
const counter = { bytes: 2 } as const
const tuple = { ip: 1, protocol: 2, zone: 3 } as const
const address = { v4Source: 1, v4Destination: 2, v6Source: 3, v6Destination: 4 } as const
const protocol = { number: 1, sourcePort: 2, destinationPort: 3 } as const

export const tcp = 6
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

/** Of any protocol that has ports. */
export function readConnection(message: NetlinkMessage, family: Family): TrackedConnection | undefined {
  if (netfilterFamily(message) !== family) return undefined
  const fields = netfilterAttributes(message)
  const originalTuple = findAttribute(fields, field.original)
  const replyTuple = findAttribute(fields, field.reply)
  const original = originalTuple && readDirection(originalTuple)
  const reply = replyTuple && readDirection(replyTuple)
  if (originalTuple === undefined || original === undefined || reply === undefined) return undefined
  const bytesIn = bytesIn64(findAttribute(fields, field.originalCounters))
  const bytesOut = bytesIn64(findAttribute(fields, field.replyCounters))
  return {
    protocol: protocolOf(originalTuple) ?? 0,
    original,
    reply,
    isOpen: isOpenTcpState(tcpStateOf(fields)),
    ...(bytesIn !== undefined && { bytesIn }),
    ...(bytesOut !== undefined && { bytesOut }),
  }
}

function tcpStateOf(fields: Slice): string | undefined {
  const info = findAttribute(fields, field.protocolInfo)
  const ofTcp = info && findAttribute(info, tcpInfo.tcp)
  const state = ofTcp && findAttribute(ofTcp, tcpInfo.state)
  return state && (tcpStates[state.buffer[state.from] ?? 0] ?? 'NONE')
}

/** As the `conntrack` command names them, by the kernel's number. */
const tcpStates = [
  'NONE',
  'SYN_SENT',
  'SYN_RECV',
  'ESTABLISHED',
  'FIN_WAIT',
  'CLOSE_WAIT',
  'LAST_ACK',
  'TIME_WAIT',
  'CLOSE',
  'SYN_SENT2',
]

/** Exact up to 2^53. */
function bytesIn64(counters: Slice | undefined): number | undefined {
  const bytes = counters && findAttribute(counters, counter.bytes)
  if (bytes === undefined) return undefined
  return bytes.buffer.readUInt32BE(bytes.from) * 2 ** 32 + bytes.buffer.readUInt32BE(bytes.from + 4)
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
