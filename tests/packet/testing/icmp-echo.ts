/** One ICMP echo request through the kernel's own ping sockets: Node has none, and not every machine has `ping`. */
import { closeSync } from 'node:fs'
import { constants } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import koffi from 'koffi'
import { ipBytes } from '../../../src/dataplane/netlink/ip-bytes.ts'
import { familyOf } from '../../../src/net/ip.ts'
import type { Namespace } from './namespace.ts'

export interface EchoRequest {
  readonly ip: string
  readonly source?: string
  readonly patienceMs: number
}

/** 0 for an echo, an errno for an answer that says no, undefined when nobody answers. */
export async function sendEcho(
  client: Namespace,
  { ip, source, patienceMs }: EchoRequest,
): Promise<number | undefined> {
  client.setSysctl('ipv4.ping_group_range', '0 2147483647')
  const fd = client.enter(() => openPingSocket(ip))
  try {
    if (source !== undefined) check('bind', calls.bind(fd, ...sockaddr(source)))
    // Only a connected socket is told that something is unreachable.
    check('connect', calls.connect(fd, ...sockaddr(ip)))
    const request = Buffer.alloc(16)
    request[0] = familyOf(ip) === 'ipv6' ? echoRequestV6 : echoRequestV4
    // A sender on the node is told at once that a rule of the node dropped it; that is silence too, or a refusal.
    const isSent = calls.send(fd, request, request.length, 0) >= 0 || koffi.errno() === constants.errno.EPERM
    check('send', isSent ? 0 : -1)
    return await answerTo(fd, patienceMs)
  } finally {
    closeSync(fd)
  }
}

async function answerTo(fd: number, patienceMs: number): Promise<number | undefined> {
  const answer = Buffer.alloc(1500)
  const deadline = performance.now() + patienceMs
  while (performance.now() < deadline) {
    if (calls.recv(fd, answer, answer.length, dontWait) >= 0) return 0
    const errno = koffi.errno()
    if (errno !== constants.errno.EAGAIN) return errno
    await sleep(5)
  }
  return undefined
}

const calls = linuxCalls()

const [echoRequestV4, echoRequestV6] = [8, 128]
const [addressFamilyV4, addressFamilyV6] = [2, 10]
const [datagrams, icmpV4, icmpV6, dontWait] = [2, 1, 58, 0x40]

function openPingSocket(ip: string): number {
  const isV6 = familyOf(ip) === 'ipv6'
  return check('socket', calls.socket(isV6 ? addressFamilyV6 : addressFamilyV4, datagrams, isV6 ? icmpV6 : icmpV4))
}

/** C's sockaddr_in or sockaddr_in6, and its length. */
function sockaddr(ip: string): readonly [address: Buffer, length: number] {
  const isV6 = familyOf(ip) === 'ipv6'
  const address = Buffer.alloc(isV6 ? 28 : 16)
  address.writeUInt16LE(isV6 ? addressFamilyV6 : addressFamilyV4)
  ipBytes(ip).copy(address, isV6 ? 8 : 4)
  return [address, address.length]
}

function check(what: string, result: number): number {
  if (result < 0) throw new Error(`${what}() for an echo request failed: errno ${koffi.errno()}`)
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
