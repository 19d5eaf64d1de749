/** How long connect() takes, without anything of Node's around it. */
import { closeSync } from 'node:fs'
import koffi from 'koffi'
import { ipBytes } from '../../../src/dataplane/netlink/ip-bytes.ts'
import type { Namespace } from '../../packet/testing/namespace.ts'

export interface TcpAddress {
  readonly ip: string
  readonly port: number
}

type Call = (...args: readonly (number | Buffer)[]) => number

const libc = koffi.load(null)
const call = (declaration: string) => libc.func(declaration) as Call
const socket = call('int socket(int domain, int type, int protocol)')
const bind = call('int bind(int fd, const void *address, uint32_t length)')
const listen = call('int listen(int fd, int backlog)')
const accept = call('int accept(int fd, void *address, void *length)')
const connect = call('int connect(int fd, const void *address, uint32_t length)')
const setOption = call('int setsockopt(int fd, int level, int option, const void *value, uint32_t length)')

const [ipv4, stream, tcp] = [2, 1, 6]
const [socketLevel, linger, receiveTimeout, sendTimeout] = [1, 13, 20, 21]
/** Closing sends a reset: nobody waits for anything afterwards. */
const atOnce = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0])
/** A packet that is lost is an error, not an end of the world. */
const tenSeconds = Buffer.from([10, ...Array<number>(15).fill(0)])

/** A socket on all addresses; connections wait in its queue until somebody takes them. */
export class Listener implements Disposable {
  readonly #fd: number

  constructor(namespace: Namespace, port: number) {
    this.#fd = namespace.enter(() => check(socket(ipv4, stream, tcp)))
    check(bind(this.#fd, sockaddr({ ip: '0.0.0.0', port }), 16))
    check(setOption(this.#fd, socketLevel, receiveTimeout, tenSeconds, tenSeconds.length))
    check(listen(this.#fd, 128))
  }

  /** Takes the connection that was just made, and ends it. */
  take(): void {
    closeSync(check(accept(this.#fd, Buffer.alloc(16), Buffer.from([16, 0, 0, 0]))))
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd)
  }
}

/** In microseconds, from the first packet until the connection is there. */
export function connectTime(client: Namespace, to: TcpAddress, listener: Listener): number {
  const fd = client.enter(() => check(socket(ipv4, stream, tcp)))
  try {
    check(setOption(fd, socketLevel, linger, atOnce, atOnce.length))
    check(setOption(fd, socketLevel, sendTimeout, tenSeconds, tenSeconds.length))
    const address = sockaddr(to)
    const startedNs = process.hrtime.bigint()
    check(connect(fd, address, address.length))
    const us = Number(process.hrtime.bigint() - startedNs) / 1000
    listener.take()
    return us
  } finally {
    closeSync(fd)
  }
}

function sockaddr({ ip, port }: TcpAddress): Buffer {
  const address = Buffer.alloc(16)
  address.writeUInt16LE(ipv4)
  address.writeUInt16BE(port, 2)
  ipBytes(ip).copy(address, 4)
  return address
}

function check(result: number): number {
  if (result < 0) throw new Error(`a system call for the first packet failed: errno ${koffi.errno()}`)
  return result
}
