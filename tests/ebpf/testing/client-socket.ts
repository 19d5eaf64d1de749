/**
 * A socket by the kernel's own calls: Node does not let one choose between `send` and `sendto`, nor connect a socket twice.
 * Addresses are written `10.0.0.1:80` and `[fd00::1]:80`. What fails is told by its name, such as ECONNREFUSED.
 */
import { closeSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { getSystemErrorName } from 'node:util'
import koffi from 'koffi'
import { addressBytes, addressText } from '../../../src/backends/ebpf/address-bytes.ts'
import { hostPort } from '../../../src/net/ip.ts'
import type { Family } from '../../../src/net/ip.ts'
import type { Answer } from '../../packet/testing/echo-server.ts'
import { parseAnswer } from '../../packet/testing/echo-server.ts'
import type { Namespace } from '../../packet/testing/namespace.ts'

export interface SocketKind {
  /** An IPv6 socket reaches IPv4 addresses as IPv4-mapped ones. */
  readonly family: Family
  readonly type: 'stream' | 'datagrams' | 'raw'
  /** By its number, if it is not the usual one. */
  readonly protocol?: number
}

export interface Datagram {
  readonly from: string
  readonly answer: Answer
}

const domains = { ipv4: 2, ipv6: 10 } as const
const types = { stream: 1, datagrams: 2, raw: 3 } as const
const [dontWait, socketLevel, sendTimeout, cookieOption, netnsCookie] = [0x40, 1, 21, 57, 71]
/** A guard against hanging, not a measure. */
const patienceMs = 60_000

export class ClientSocket implements Disposable {
  readonly #fd: number
  readonly #family: Family

  constructor(namespace: Namespace, { family, type, protocol = 0 }: SocketKind) {
    this.#family = family
    this.#fd = namespace.enter(() => calls.socket(domains[family], types[type], protocol))
    if (this.#fd < 0) throw new Error(`cannot make a socket of the test: ${lastError()}`)
    // Calls wait in this process, where the servers are, too: nothing may hang.
    const seconds = Buffer.alloc(16)
    seconds.writeBigInt64LE(20n)
    calls.setsockopt(this.#fd, socketLevel, sendTimeout, seconds, seconds.length)
  }

  static tcp(namespace: Namespace, family: Family = 'ipv4'): ClientSocket {
    return new ClientSocket(namespace, { family, type: 'stream' })
  }

  static udp(namespace: Namespace, family: Family = 'ipv4'): ClientSocket {
    return new ClientSocket(namespace, { family, type: 'datagrams' })
  }

  bind(place: string): string {
    return result(calls.bind(this.#fd, ...this.#sockaddr(place)))
  }

  /** Also checks that the kernel leaves the caller's address as it is. */
  connect(place: string): string {
    const [address, length] = this.#sockaddr(place)
    const before = Buffer.from(address)
    const outcome = result(calls.connect(this.#fd, address, length))
    if (!before.equals(address)) throw new Error('connect() changed the address of its caller')
    return outcome
  }

  listen(): string {
    return result(calls.listen(this.#fd, 8))
  }

  /** What a server is told about its next client: by accept() itself, and afterwards. */
  async accept(): Promise<{ readonly from: string; readonly peer: string }> {
    this.dontWait()
    let client = -1
    const from = await this.#patiently(() => {
      const place = this.#named((address, length) => (client = calls.accept(this.#fd, address, length)))
      return client < 0 ? undefined : place
    })
    const peer = this.#named((address, length) => calls.getpeername(client, address, length))
    closeSync(client)
    return { from, peer }
  }

  disconnect(): string {
    return result(calls.connect(this.#fd, Buffer.alloc(16), 16))
  }

  /** To a place, or where the socket is connected to. */
  send(text: string, place?: string, flags = 0): string {
    const data = Buffer.from(text)
    if (place === undefined) return result(calls.send(this.#fd, data, data.length, flags))
    const [address, length] = this.#sockaddr(place)
    const before = Buffer.from(address)
    const outcome = result(calls.sendto(this.#fd, data, data.length, flags, address, length))
    if (!before.equals(address)) throw new Error('sendto() changed the address of its caller')
    return outcome
  }

  /** Of a UDP socket: the next datagram, which is an answer of our servers. */
  async receive(): Promise<Datagram> {
    const data = Buffer.alloc(2000)
    const [address, length] = [Buffer.alloc(28), Buffer.alloc(4)]
    const size = await this.#patiently(() => {
      length.writeUInt32LE(address.length)
      return unlessFailed(calls.recvfrom(this.#fd, data, data.length, dontWait, address, length))
    })
    return { from: this.#placeOf(address), answer: parseAnswer(data.toString('utf8', 0, size)) }
  }

  /** Of a TCP socket: what the server says before it closes. */
  async read(): Promise<Answer> {
    const data = Buffer.alloc(2000)
    let size = 0
    for (;;) {
      const rest = data.subarray(size)
      const more = await this.#patiently(() => unlessFailed(calls.recv(this.#fd, rest, rest.length, dontWait)))
      if (more === 0) return parseAnswer(data.toString('utf8', 0, size))
      size += more
    }
  }

  get peer(): string {
    return this.#named((address, length) => calls.getpeername(this.#fd, address, length))
  }

  get own(): string {
    return this.#named((address, length) => calls.getsockname(this.#fd, address, length))
  }

  set(level: number, option: number, value: number): string {
    const data = Buffer.alloc(4)
    data.writeInt32LE(value)
    return result(calls.setsockopt(this.#fd, level, option, data, data.length))
  }

  dontWait(): void {
    const [setFlags, nonBlocking] = [4, 0x800]
    calls.fcntl(this.#fd, setFlags, nonBlocking)
  }

  get cookie(): bigint {
    return this.#number(cookieOption)
  }

  get netns(): bigint {
    return this.#number(netnsCookie)
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd)
  }

  #number(option: number): bigint {
    const [value, length] = [Buffer.alloc(8), Buffer.alloc(4)]
    length.writeUInt32LE(8)
    if (calls.getsockopt(this.#fd, socketLevel, option, value, length) < 0) throw new Error(lastError())
    return value.readBigUInt64LE()
  }

  #named(call: (address: Buffer, length: Buffer) => number): string {
    const [address, length] = [Buffer.alloc(28), Buffer.alloc(4)]
    length.writeUInt32LE(address.length)
    return call(address, length) < 0 ? lastError() : this.#placeOf(address)
  }

  /** The servers are in this process, so it has to wait without blocking. */
  async #patiently<T>(call: () => T | undefined): Promise<T> {
    for (const end = performance.now() + patienceMs; performance.now() < end; await wait(1)) {
      const done = call()
      if (done !== undefined) return done
      if (lastError() !== 'EAGAIN') throw new Error(`a socket of the test cannot receive: ${lastError()}`)
    }
    throw new Error('a socket of the test received nothing')
  }

  /** C's sockaddr_in or sockaddr_in6, and its length. */
  #sockaddr(place: string): readonly [address: Buffer, length: number] {
    const { ip, port } = parsePlace(place)
    const isV4 = this.#family === 'ipv4'
    const address = Buffer.alloc(isV4 ? 16 : 28)
    address.writeUInt16LE(domains[this.#family])
    address.writeUInt16BE(port, 2)
    address.set(addressBytes(ip).subarray(isV4 ? 12 : 0), isV4 ? 4 : 8)
    return [address, address.length]
  }

  #placeOf(address: Buffer): string {
    const ip = this.#family === 'ipv4' ? address.subarray(4, 8).join('.') : addressText(address, 8)
    return hostPort(ip, address.readUInt16BE(2))
  }
}

export function parsePlace(place: string): { readonly ip: string; readonly port: number } {
  const [, v6, v4, port] = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(place) ?? []
  const ip = v6 ?? v4
  if (ip === undefined) throw new Error(`"${place}" is not an address with a port`)
  return { ip, port: Number(port) }
}

function unlessFailed(size: number): number | undefined {
  return size < 0 ? undefined : size
}

/** 'ok', or the name of the error. */
function result(value: number): string {
  return value < 0 ? lastError() : 'ok'
}

function lastError(): string {
  return getSystemErrorName(-koffi.errno())
}

type Call = (...args: readonly (number | Buffer)[]) => number

const calls = linuxCalls()

/** Other systems have none of this; there the tests are skipped, and nobody calls them. */
function linuxCalls() {
  const libc = process.platform === 'linux' ? koffi.load(null) : undefined
  const call = (declaration: string) => (libc?.func(declaration) ?? (() => -1)) as Call
  return {
    socket: call('int socket(int domain, int type, int protocol)'),
    listen: call('int listen(int fd, int backlog)'),
    accept: call('int accept(int fd, void *address, void *length)'),
    bind: call('int bind(int fd, const void *address, uint32_t length)'),
    connect: call('int connect(int fd, void *address, uint32_t length)'),
    send: call('intptr_t send(int fd, const void *data, size_t size, int flags)'),
    sendto: call('intptr_t sendto(int fd, const void *data, size_t size, int flags, const void *to, uint32_t length)'),
    recv: call('intptr_t recv(int fd, void *data, size_t size, int flags)'),
    recvfrom: call('intptr_t recvfrom(int fd, void *data, size_t size, int flags, void *from, void *length)'),
    getpeername: call('int getpeername(int fd, void *address, void *length)'),
    getsockname: call('int getsockname(int fd, void *address, void *length)'),
    getsockopt: call('int getsockopt(int fd, int level, int name, void *value, void *length)'),
    setsockopt: call('int setsockopt(int fd, int level, int name, const void *value, uint32_t length)'),
    fcntl: call('int fcntl(int fd, int command, int argument)'),
  }
}
