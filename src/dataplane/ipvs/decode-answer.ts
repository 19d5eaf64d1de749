/** Decodes the messages of IPVS: virtual servers, real servers and timeouts. */
import type { Family } from '../../net/ip.ts'
import { findAttribute, readText } from '../netlink/attribute.ts'
import type { Slice } from '../netlink/attribute.ts'
import { genericAttributes } from '../netlink/generic.ts'
import { readIp } from '../netlink/ip-bytes.ts'
import type { NetlinkMessage } from '../netlink/message.ts'
import type { IpvsTimeouts, ListedRealServer, ServerAddress, ServerCounters, VirtualServer } from './ipvs.ts'
import {
  counterField,
  familyNumber,
  field,
  hashedFlag,
  protocolNumber,
  realServerField,
  serverField,
} from './protocol-numbers.ts'

/** Returns nothing for the server of a firewall mark, which has no address. */
export function readServer(message: NetlinkMessage): VirtualServer | undefined {
  const fields = findAttribute(genericAttributes(message), field.server)
  if (fields === undefined) return undefined
  const family = readFamily(fields, serverField.family)
  const protocol = protocolsByNumber.get(readU16(fields, serverField.protocol))
  const ip = readAddress(fields, serverField.ip, family)
  const scheduler = findAttribute(fields, serverField.scheduler)
  if (protocol === undefined || ip === undefined || scheduler === undefined) return undefined
  return {
    ip,
    port: readPort(fields, serverField.port),
    protocol,
    scheduler: readText(scheduler),
    flags: (readU32(fields, serverField.flags) & ~hashedFlag) >>> 0,
    timeoutSeconds: readU32(fields, serverField.timeout),
  }
}

/** `serverFamily` is the family of the virtual server: kernels before 3.18 do not send that of the real server. */
export function readRealServer(message: NetlinkMessage, serverFamily: Family): ListedRealServer | undefined {
  const fields = findAttribute(genericAttributes(message), field.realServer)
  if (fields === undefined) return undefined
  const ip = readAddress(fields, realServerField.ip, readFamily(fields, realServerField.family) ?? serverFamily)
  if (ip === undefined) return undefined
  return {
    ip,
    port: readPort(fields, realServerField.port),
    weight: readU32(fields, realServerField.weight),
    activeConnections: readU32(fields, realServerField.activeConnections),
    inactiveConnections: readU32(fields, realServerField.inactiveConnections),
  }
}

export function readServerCounters(message: NetlinkMessage): ServerCounters {
  return readCounters(findAttribute(genericAttributes(message), field.server), serverField.counters)
}

export function readRealServerCounters(message: NetlinkMessage): ServerCounters {
  return readCounters(findAttribute(genericAttributes(message), field.realServer), realServerField.counters)
}

function readCounters(fields: Slice | undefined, type: number): ServerCounters {
  const counters = fields && findAttribute(fields, type)
  return {
    connections: readU64(counters, counterField.connections),
    bytesIn: readU64(counters, counterField.bytesIn),
    bytesOut: readU64(counters, counterField.bytesOut),
  }
}

/** Exact up to 2^53. */
function readU64(fields: Slice | undefined, type: number): number {
  const found = fields && findAttribute(fields, type)
  if (found === undefined || found.to - found.from < 8) return 0
  return found.buffer.readUInt32LE(found.from) + found.buffer.readUInt32LE(found.from + 4) * 2 ** 32
}

export function readTimeouts(message: NetlinkMessage): IpvsTimeouts {
  const fields = genericAttributes(message)
  return {
    tcpSeconds: readU32(fields, field.tcpTimeout),
    tcpFinSeconds: readU32(fields, field.tcpFinTimeout),
    udpSeconds: readU32(fields, field.udpTimeout),
  }
}

const protocolsByNumber: ReadonlyMap<number, ServerAddress['protocol']> = new Map(
  (['TCP', 'UDP', 'SCTP'] as const).map((protocol) => [protocolNumber[protocol], protocol]),
)

function readFamily(fields: Slice, type: number): Family | undefined {
  const number = readU16(fields, type)
  return number === familyNumber.ipv4 ? 'ipv4' : number === familyNumber.ipv6 ? 'ipv6' : undefined
}

/** The kernel always sends 16 bytes; an IPv4 address is in the first four. */
function readAddress(fields: Slice, type: number, family: Family | undefined): string | undefined {
  const found = findAttribute(fields, type)
  const length = family === 'ipv4' ? 4 : 16
  if (found === undefined || family === undefined || found.to - found.from < length) return undefined
  return readIp({ ...found, to: found.from + length })
}

function readPort(fields: Slice, type: number): number {
  const found = findAttribute(fields, type)
  return found !== undefined && found.to - found.from >= 2 ? found.buffer.readUInt16BE(found.from) : 0
}

function readU16(fields: Slice, type: number): number {
  const found = findAttribute(fields, type)
  return found !== undefined && found.to - found.from >= 2 ? found.buffer.readUInt16LE(found.from) : 0
}

/** Reads the first four bytes. Flags are eight bytes: the bits, then a mask. */
function readU32(fields: Slice, type: number): number {
  const found = findAttribute(fields, type)
  return found !== undefined && found.to - found.from >= 4 ? found.buffer.readUInt32LE(found.from) : 0
}
