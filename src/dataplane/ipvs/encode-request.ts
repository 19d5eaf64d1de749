/** Encodes the bodies of requests to IPVS. Their message type is known at run time only. */
import { familyOf } from '../../net/ip.ts'
import { attribute, be16, cString, u16, u32 } from '../netlink/attribute.ts'
import { genericBody } from '../netlink/generic.ts'
import { ipBytes } from '../netlink/ip-bytes.ts'
import type { IpvsOperation, IpvsTimeouts, RealServer, ServerAddress, VirtualServer } from './ipvs.ts'
import { command, familyNumber, field, protocolNumber, realServerField, serverField } from './protocol-numbers.ts'

export function operation(operation: IpvsOperation): Buffer {
  switch (operation.kind) {
    case 'add-server':
      return genericBody(command.newServer, wholeServer(operation.server))
    case 'edit-server':
      return genericBody(command.setServer, wholeServer(operation.server))
    case 'delete-server':
      return genericBody(command.deleteServer, serverAt(operation.server))
    case 'add-real-server':
      return genericBody(command.newRealServer, serverAt(operation.server), wholeRealServer(operation.realServer))
    case 'edit-real-server':
      return genericBody(command.setRealServer, serverAt(operation.server), wholeRealServer(operation.realServer))
    case 'delete-real-server':
      return genericBody(command.deleteRealServer, serverAt(operation.server), realServerAt(operation.realServer))
    default:
      return operation satisfies never
  }
}

export const listServers = (): Buffer => genericBody(command.getServer)

export function findServer(server: ServerAddress): Buffer {
  return genericBody(command.getServer, serverAt(server))
}

export function listRealServers(server: ServerAddress): Buffer {
  return genericBody(command.getRealServer, serverAt(server))
}

export const flush = (): Buffer => genericBody(command.flush)

export const timeouts = (): Buffer => genericBody(command.getConfig)

export function setTimeouts({ tcpSeconds, tcpFinSeconds, udpSeconds }: IpvsTimeouts): Buffer {
  return genericBody(
    command.setConfig,
    attribute(field.tcpTimeout, u32(tcpSeconds)),
    attribute(field.tcpFinTimeout, u32(tcpFinSeconds)),
    attribute(field.udpTimeout, u32(udpSeconds)),
  )
}

const everyFlag = 0xffffffff
/** Persistence applies to each client address by itself. The field is a mask for IPv4, and a length for IPv6. */
const netmask = { ipv4: 0xffffffff, ipv6: 128 } as const
/** The kernel rewrites addresses. The other ways work only if the real servers know the virtual server's address. */
const forwardByNat = 0

function wholeServer(server: VirtualServer): Buffer {
  return serverAt(
    server,
    attribute(serverField.scheduler, cString(server.scheduler)),
    attribute(serverField.flags, Buffer.concat([u32(server.flags), u32(everyFlag)])),
    attribute(serverField.timeout, u32(server.timeoutSeconds)),
    attribute(serverField.netmask, u32(netmask[familyOf(server.ip)])),
  )
}

function serverAt({ ip, port, protocol }: ServerAddress, ...more: readonly Buffer[]): Buffer {
  const children = [
    attribute(serverField.family, u16(familyNumber[familyOf(ip)])),
    attribute(serverField.protocol, u16(protocolNumber[protocol])),
    attribute(serverField.ip, ipBytes(ip)),
    attribute(serverField.port, be16(port)),
    ...more,
  ]
  return attribute(field.server, Buffer.concat(children))
}

function wholeRealServer(realServer: RealServer): Buffer {
  return realServerAt(
    realServer,
    attribute(realServerField.forwarding, u32(forwardByNat)),
    attribute(realServerField.weight, u32(realServer.weight)),
    attribute(realServerField.upperThreshold, u32(0)),
    attribute(realServerField.lowerThreshold, u32(0)),
  )
}

function realServerAt({ ip, port }: Pick<RealServer, 'ip' | 'port'>, ...more: readonly Buffer[]): Buffer {
  const children = [
    attribute(realServerField.ip, ipBytes(ip)),
    attribute(realServerField.port, be16(port)),
    // Without it the kernel reads the address as one of the virtual server's family.
    attribute(realServerField.family, u16(familyNumber[familyOf(ip)])),
    ...more,
  ]
  return attribute(field.realServer, Buffer.concat(children))
}
