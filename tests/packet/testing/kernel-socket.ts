/** Sockets of kinds that Node does not have, by the kernel's own calls. Nothing here waits: ask again when told nothing. */
import { closeSync } from 'node:fs'
import { constants } from 'node:os'
import koffi from 'koffi'
import { ipBytes } from '../../../src/dataplane/netlink/ip-bytes.ts'
import { familyOf } from '../../../src/net/ip.ts'
import type { Family } from '../../../src/net/ip.ts'
import type { Namespace } from './namespace.ts'

export interface SocketKind {
  readonly family: Family
  readonly type: 'datagrams' | 'raw'
  /** By its number in the IP header. */
  readonly protocol: number
}

export class KernelSocket implements Disposable {
  readonly #fd: number

  constructor(namespace: Namespace, { family, type, protocol }: SocketKind) {
    this.#fd = namespace.enter(() => check('socket', calls.socket(domains[family], types[type], protocol)))
  }

  bind(ip: string): void {
    check('bind', calls.bind(this.#fd, ...sockaddr(ip)))
  }

  /** Only a connected socket is told that something is unreachable. */
  connect(ip: string): void {
    check('connect', calls.connect(this.#fd, ...sockaddr(ip)))
  }

  /** A sender on the node is told at once that a rule of the node dropped it; here that is no error. */
  send(packet: Buffer): void {
    const sent = calls.send(this.#fd, packet, packet.length, 0)
    if (sent < 0 && koffi.errno() !== constants.errno.EPERM) check('send', sent)
  }

  /** What has arrived, the errno of what went wrong, or undefined when there is neither. */
  receive(): Buffer | number | undefined {
    const packet = Buffer.alloc(1500)
    const length = calls.recv(this.#fd, packet, packet.length, dontWait)
    if (length >= 0) return packet.subarray(0, length)
    const errno = koffi.errno()
    return errno === constants.errno.EAGAIN ? undefined : errno
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd)
  }
}

const domains = { ipv4: 2, ipv6: 10 } as const
const types = { datagrams: 2, raw: 3 } as const
const dontWait = 0x40

const calls = linuxCalls()

/** C's sockaddr_in or sockaddr_in6, and its length. */
function sockaddr(ip: string): readonly [address: Buffer, length: number] {
  const family = familyOf(ip) === 'ipv6' ? 'ipv6' : 'ipv4'
  const address = Buffer.alloc(family === 'ipv6' ? 28 : 16)
  address.writeUInt16LE(domains[family])
  ipBytes(ip).copy(address, family === 'ipv6' ? 8 : 4)
  return [address, address.length]
}

function check(what: string, result: number): number {
  if (result < 0) throw new Error(`${what}() failed for a socket of the test: errno ${koffi.errno()}`)
  return result
}

type Call = (...args: readonly (number | Buffer)[]) => number

/** Other systems have none of this; there the tests are skipped, and nobody calls them. */
function linuxCalls(): Readonly<Record<'socket' | 'bind' | 'connect' | 'send' | 'recv', Call>> {
  const libc = process.platform === 'linux' ? koffi.load(null) : undefined
  const bindCall = (declaration: string) => (libc?.func(declaration) ?? (() => -1)) as Call
  return {
    socket: bindCall('int socket(int domain, int type, int protocol)'),
    bind: bindCall('int bind(int fd, const void *address, uint32_t length)'),
    connect: bindCall('int connect(int fd, const void *address, uint32_t length)'),
    send: bindCall('intptr_t send(int fd, const void *data, size_t length, int flags)'),
    recv: bindCall('intptr_t recv(int fd, void *data, size_t length, int flags)'),
  }
}
