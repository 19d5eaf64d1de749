/** What a namespace and its kernel say to each other over netlink, as the kernel's own monitor device shows it. */
import { closeSync } from 'node:fs'
import koffi from 'koffi'
import type { Namespace } from '../../packet/testing/namespace.ts'

export interface NetlinkMessage {
  /** Which netlink it is: 0 for routes and addresses, 12 for netfilter, 16 for generic. */
  readonly protocol: number
  readonly type: number
  readonly isRequest: boolean
  readonly body: Buffer
}

const libc = koffi.load(null)
const socket = libc.func('int socket(int domain, int type, int protocol)') as (...args: number[]) => number
const bind = libc.func('int bind(int fd, const void *address, uint32_t length)') as Call
const setsockopt = libc.func(
  'int setsockopt(int fd, int level, int option, const void *value, uint32_t length)',
) as Call
const indexOf = libc.func('uint32_t if_nametoindex(const char *name)') as (name: string) => number
const recvfrom = libc.func(
  'int64_t recvfrom(int fd, _Out_ void *buffer, uint64_t size, int flags, _Out_ void *from, _Inout_ void *length)',
) as Call

type Call = (...args: readonly (number | Buffer)[]) => number

const packetFamily = 17
const rawNonBlocking = 3 | 0o4000
const everyProtocol = 0x0300 // ETH_P_ALL, in network order
const addressBytes = 20
const [socketLevel, receiveBufferForce] = [1, 33]
/** The first sync of kube-proxy says a lot between two visits. */
const bufferBytes = 128 * 2 ** 20
const visitEveryMs = 50

export class NetlinkTap implements Disposable {
  readonly #fd: number
  readonly #visits: NodeJS.Timeout
  readonly #datagram = Buffer.alloc(1 << 20)
  readonly #from = Buffer.alloc(addressBytes)
  #messages: NetlinkMessage[] = []

  constructor(namespace: Namespace) {
    namespace.ip('link add name tap type nlmon', 'link set tap up')
    this.#fd = namespace.enter(() => openTap(indexOf('tap')))
    this.#visits = setInterval(() => this.#read(), visitEveryMs)
  }

  /** What was said since the last time. */
  take(): readonly NetlinkMessage[] {
    this.#read()
    const taken = this.#messages
    this.#messages = []
    return taken
  }

  [Symbol.dispose](): void {
    clearInterval(this.#visits)
    closeSync(this.#fd)
  }

  #read(): void {
    const length = Buffer.alloc(4)
    for (;;) {
      length.writeUInt32LE(addressBytes)
      const bytes = recvfrom(this.#fd, this.#datagram, this.#datagram.length, 0, this.#from, length)
      if (bytes < 0) return
      const datagram = Buffer.from(this.#datagram.subarray(0, bytes))
      for (const message of messagesOf(datagram, this.#from.readUInt16BE(2))) this.#messages.push(message)
    }
  }
}

function openTap(index: number): number {
  const fd = socket(packetFamily, rawNonBlocking, everyProtocol)
  const size = Buffer.alloc(4)
  size.writeInt32LE(bufferBytes)
  const address = Buffer.alloc(addressBytes)
  address.writeUInt16LE(packetFamily, 0)
  address.writeUInt16LE(everyProtocol, 2)
  address.writeInt32LE(index, 4)
  const isOpen = fd >= 0 && setsockopt(fd, socketLevel, receiveBufferForce, size, size.length) === 0
  if (!isOpen || bind(fd, address, address.length) !== 0)
    throw new Error(`cannot listen to netlink: errno ${koffi.errno()}`)
  return fd
}

/** A datagram holds one message or more. */
function* messagesOf(datagram: Buffer, protocol: number): Generator<NetlinkMessage> {
  const headerBytes = 16
  for (let at = 0; at + headerBytes <= datagram.length;) {
    const length = datagram.readUInt32LE(at)
    if (length < headerBytes) return
    const isRequest = (datagram.readUInt16LE(at + 6) & 1) !== 0
    const body = datagram.subarray(at + headerBytes, at + length)
    yield { protocol, type: datagram.readUInt16LE(at + 4), isRequest, body }
    at += (length + 3) & ~3
  }
}
