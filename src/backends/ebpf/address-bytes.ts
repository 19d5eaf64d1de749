/** Addresses as the tables have them: 16 bytes in network order, IPv4 as IPv4-mapped IPv6. */
import { readIp, readIpv6, writeIpv6 } from '../../dataplane/netlink/ip-bytes.ts'
import { familyOf } from '../../net/ip.ts'

const addressSize = 16

/** The address must be canonical. */
export function addressBytes(ip: string): Buffer {
  const bytes = Buffer.allocUnsafe(addressSize)
  writeAddress(ip, bytes, 0)
  return bytes
}

/** In place: there is one for each endpoint, and none shall be garbage. The address must be canonical. */
export function writeAddress(ip: string, bytes: Buffer, at: number): void {
  const isWritten = familyOf(ip) === 'ipv6' ? writeIpv6(ip, 0, ip.length, bytes, at) : writeMapped(ip, bytes, at)
  if (!isWritten) throw new TypeError(`"${ip}" is not a canonical IP address`)
}

/** The canonical text. */
export function addressText(buffer: Buffer, at = 0): string {
  return isMapped(buffer, at) ? readIp({ buffer, from: at + 12, to: at + addressSize }) : readIpv6(buffer, at)
}

function writeMapped(ip: string, bytes: Buffer, at: number): boolean {
  // Ten stores: a call that fills them takes longer.
  for (let place = 0; place < 10; place++) bytes[at + place] = 0
  bytes[at + 10] = bytes[at + 11] = 0xff
  let [part, value, digits] = [0, 0, 0]
  for (let place = 0; place <= ip.length; place++) {
    const digit = place === ip.length ? dot : ip.charCodeAt(place) - zero
    if (digit >= 0 && digit <= 9) {
      value = value * 10 + digit
      digits++
    } else {
      if (digit !== dot || part > 3 || digits === 0 || value > 255) return false
      bytes[at + 12 + part++] = value
      value = digits = 0
    }
  }
  return part === 4
}

function isMapped(buffer: Buffer, at: number): boolean {
  return buffer.readUInt32BE(at) === 0 && buffer.readUInt32BE(at + 4) === 0 && buffer.readUInt32BE(at + 8) === 0xffff
}

const zero = '0'.charCodeAt(0)
const dot = '.'.charCodeAt(0) - zero
