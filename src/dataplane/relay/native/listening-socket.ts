/** Listens for the native engine. The socket stays here too: an engine that dies loses no client that waits in it. */
import { closeSync } from 'node:fs'
import { familyOf } from '../../../net/ip.ts'
import type { Libc } from '../../libc/load-libc.ts'
import { ipBytes } from '../../netlink/ip-bytes.ts'
import type { SocketAddress } from '../relay.ts'
import { systemError } from './engine-process.ts'

const [inet, inet6] = [2, 10]
const streamWithoutWaiting = 0x80801
const [socketLevel, reuseAddress] = [1, 2]
const [ipv6Level, ipv6Only] = [41, 26]
/** The kernel caps it at net.core.somaxconn. */
const backlog = 4096

/** Its descriptor belongs to the caller. Throws what the kernel says. */
export function listenAt(libc: Libc, { ip, port }: SocketAddress): number {
  const isIpv6 = familyOf(ip) === 'ipv6'
  const fd = libc.socket(isIpv6 ? inet6 : inet, streamWithoutWaiting, 0)
  if (fd < 0) throw systemError(-fd)
  const on = Buffer.alloc(4)
  on.writeInt32LE(1)
  const errno =
    libc.setSocketOption(fd, socketLevel, reuseAddress, on) ||
    (isIpv6 ? libc.setSocketOption(fd, ipv6Level, ipv6Only, on) : 0) ||
    libc.bind(fd, socketAddress(ip, port)) ||
    libc.listen(fd, backlog)
  if (errno === 0) return fd
  closeSync(fd)
  throw systemError(errno)
}

/** C's sockaddr_in or sockaddr_in6. */
function socketAddress(ip: string, port: number): Buffer {
  const isIpv6 = familyOf(ip) === 'ipv6'
  const address = Buffer.alloc(isIpv6 ? 28 : 16)
  address.writeUInt16LE(isIpv6 ? inet6 : inet, 0)
  address.writeUInt16BE(port, 2)
  ipBytes(ip).copy(address, isIpv6 ? 8 : 4)
  return address
}
