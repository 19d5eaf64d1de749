/** Network namespaces with names, as container runtimes make them, and sockets in them. */
import { closeSync, openSync, writeSync } from 'node:fs'
import { ipBytes } from '../../netlink/ip-bytes.ts'
import { run } from '../../netlink/testing/network-namespace.ts'
import type { Libc } from '../../libc/load-libc.ts'
import { namespaceCookie } from '../namespace-cookie.ts'
import type { ConnectedSocket } from '../sockets.ts'

export class NamedNamespaces implements Disposable {
  readonly names: readonly string[]

  constructor(count: number) {
    this.names = Array.from({ length: count }, (_, index) => `fairlead-test-${process.pid}-${index}`)
    for (const name of this.names) run(`ip netns add ${name} && ip -n ${name} link set lo up`)
  }

  [Symbol.dispose](): void {
    for (const name of this.names) run(`ip netns del ${name}`)
  }
}

/** Does the work with this thread in the namespace. The work must not wait. */
export function inNamespace<T>(libc: Libc, name: string, work: () => T): T {
  const [home, there] = [openSync('/proc/thread-self/ns/net', 'r'), openSync(`/run/netns/${name}`, 'r')]
  try {
    if (libc.enterNetworkNamespace(there) !== 0) throw new Error(`cannot enter ${name}`)
    return work()
  } finally {
    libc.enterNetworkNamespace(home)
    closeSync(home)
    closeSync(there)
  }
}

export interface TestSocket extends ConnectedSocket, Disposable {
  readonly fd: number
  /** Whether it has a peer to send to. */
  isConnected(): boolean
}

/** A UDP socket of the family, in the namespace of this thread. A socket of IPv6 can be connected to an address of IPv4. */
export function connectUdp(libc: Libc, family: 'ipv4' | 'ipv6', ip: string, port: number): TestSocket {
  const [datagrams, socketLevel, socketCookie] = [0o2000002, 1, 57]
  const fd = libc.socket(family === 'ipv4' ? 2 : 10, datagrams, 0)
  const errno = libc.connect(fd, sockaddr(family, ip, port))
  if (errno !== 0) throw new Error(`cannot connect to ${ip}: errno ${errno}`)
  const cookie = Buffer.alloc(8)
  libc.getSocketOption(fd, socketLevel, socketCookie, cookie)
  let isOpen = true
  return {
    fd,
    cookie: cookie.readBigUInt64LE(0),
    netns: namespaceCookie(libc, fd) ?? 0n,
    protocol: 'UDP',
    ip,
    port,
    isConnected() {
      try {
        writeSync(fd, 'hello')
        return true
      } catch (error) {
        // Nobody listens there, which it learns only from an answer.
        if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') return true
        if ((error as NodeJS.ErrnoException).code === 'EDESTADDRREQ') return false
        throw error
      }
    },
    [Symbol.dispose]() {
      if (isOpen) closeSync(fd)
      isOpen = false
    },
  }
}

function sockaddr(family: 'ipv4' | 'ipv6', ip: string, port: number): Buffer {
  const isMapped = family === 'ipv6' && !ip.includes(':')
  const address = isMapped ? Buffer.concat([Buffer.from('00000000000000000000ffff', 'hex'), ipBytes(ip)]) : ipBytes(ip)
  const bytes = Buffer.alloc(family === 'ipv4' ? 16 : 28)
  bytes.writeUInt16LE(family === 'ipv4' ? 2 : 10, 0)
  bytes.writeUInt16BE(port, 2)
  address.copy(bytes, family === 'ipv4' ? 4 : 8)
  return bytes
}
