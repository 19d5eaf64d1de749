/** What the kernel is told about sockets, and what it answers (linux/inet_diag.h). Pure. */
import { readIpv6 } from '../netlink/ip-bytes.ts'
import type { NetlinkMessage } from '../netlink/message.ts'
import type { NetlinkRequest } from '../netlink/netlink.ts'
import type { ConnectedSocket } from './sockets.ts'

type Protocol = ConnectedSocket['protocol']

export interface ListedSocket {
  readonly cookie: bigint
  readonly ip: string
  readonly port: number
  /** The kernel's name for it, to be sent back as it came. */
  readonly id: Buffer
  readonly family: number
}

/** Sockets of IPv6 may be connected to IPv4 addresses, so both are asked for. */
export const socketFamilies = { ipv4: 2, ipv6: 10 } as const

const messageType = { list: 20, destroy: 21 } as const
const protocolNumber: Readonly<Record<Protocol, number>> = { TCP: 6, UDP: 17 }
const requestBytes = 56
const idAt = { inRequest: 8, inAnswer: 4 } as const
const idBytes = 48

/** UDP sockets are "established" when they are connected. TCP: all that have a peer and are not over. */
const states: Readonly<Record<Protocol, number>> = { UDP: 1 << 1, TCP: 0b1011_0011_1110 }
const allStates = 0xffffffff

export function listSockets(family: number, protocol: Protocol): NetlinkRequest {
  const body = Buffer.alloc(requestBytes)
  body.writeUInt8(family, 0)
  body.writeUInt8(protocolNumber[protocol], 1)
  body.writeUInt32LE(states[protocol], 4)
  return { doing: `list the ${protocol} sockets`, type: messageType.list, body }
}

/** Nothing if the answer is too short to be one. */
export function readSocket({ body: { buffer, from, to } }: NetlinkMessage): ListedSocket | undefined {
  if (to - from < idAt.inAnswer + idBytes) return undefined
  const family = buffer.readUInt8(from)
  const id = from + idAt.inAnswer
  return {
    cookie: buffer.readBigUInt64LE(id + 40),
    ip: readAddress(buffer, id + 20, family),
    port: buffer.readUInt16BE(id + 2),
    id: Buffer.from(buffer.subarray(id, id + idBytes)),
    family,
  }
}

export function destroySocket({ family, id }: ListedSocket, protocol: Protocol): NetlinkRequest {
  const body = Buffer.alloc(requestBytes)
  body.writeUInt8(family, 0)
  body.writeUInt8(protocolNumber[protocol], 1)
  body.writeUInt32LE(allStates, 4)
  id.copy(body, idAt.inRequest)
  return { doing: `destroy a ${protocol} socket`, type: messageType.destroy, body }
}

function readAddress(buffer: Buffer, at: number, family: number): string {
  if (family === socketFamilies.ipv4) return buffer.subarray(at, at + 4).join('.')
  const isMapped = buffer.readBigUInt64BE(at) === 0n && buffer.readUInt32BE(at + 8) === 0xffff
  return isMapped ? buffer.subarray(at + 12, at + 16).join('.') : readIpv6(buffer, at)
}
