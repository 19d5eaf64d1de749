/** Addresses as the tables have them: 16 bytes in network order, IPv4 as IPv4-mapped IPv6. */
import { readIpv6, writeIpv6 } from '../../dataplane/netlink/ip-bytes.ts'
import { familyOf, ipToBigInt } from '../../net/ip.ts'

const addressSize = 16

/** The address must be canonical. */
export function addressBytes(ip: string): Buffer {
  const bytes = Buffer.alloc(addressSize)
  if (familyOf(ip) === 'ipv6') {
    if (!writeIpv6(ip, 0, ip.length, bytes, 0)) throw new TypeError(`"${ip}" is not a canonical IP address`)
    return bytes
  }
  bytes.fill(0xff, 10, 12)
  bytes.writeUInt32BE(Number(ipToBigInt(ip)), 12)
  return bytes
}

/** The canonical text. */
export function addressText(buffer: Buffer, at = 0): string {
  return isMapped(buffer, at) ? buffer.subarray(at + 12, at + addressSize).join('.') : readIpv6(buffer, at)
}

function isMapped(buffer: Buffer, at: number): boolean {
  return buffer.readBigUInt64BE(at) === 0n && buffer.readUInt32BE(at + 8) === 0xffff
}
