/** The side of the lock that holds it: says who runs here, and hands over to a newcomer that asks for it. */
import { createServer, type Server, type Socket } from 'node:net'
import { constants } from 'node:os'
import { createInterface } from 'node:readline'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import type { Libc } from '../../dataplane/libc/load-libc.ts'
import { descriptorOf } from '../../net/kept-sockets.ts'
import type { KeptSocket, KeptSockets } from '../../net/kept-sockets.ts'
import { peerOf } from './abstract-socket.ts'
import { parseFromNewcomer, protocolNumber, renderMessage } from './messages.ts'
import type { FromRunning, ProxyIdentity } from './messages.ts'
import type { SyncGate } from './sync-gate.ts'
import { isTrustedNewcomer } from './trusted-peer.ts'

export interface RunningProxyOptions {
  /** Listens under the name of the lock; belongs to this object now. */
  readonly fd: number
  readonly self: ProxyIdentity
  readonly sockets: KeptSockets
  readonly gate: SyncGate
  readonly libc: Libc
  readonly uid: number
  readonly clock: Clock
  readonly log: Logger
}

/** Others are told who runs, and come again. */
const mostNewcomers = 16
/** With the names, one message stays well below what a socket takes. */
const socketsPerMessage = 100
const sendAgainMs = 5

export class RunningProxy implements AsyncDisposable {
  readonly #options: RunningProxyOptions
  readonly #server: Server
  readonly #retiring = new AbortController()
  readonly #ending = new AbortController()
  readonly #newcomers = new Set<Socket>()
  readonly #coming = new Map<Socket, ProxyIdentity>()
  /** To whom it is handing over. */
  #successor: Socket | undefined

  constructor(options: RunningProxyOptions) {
    this.#options = options
    this.#server = createServer((socket) => this.#meet(socket))
    this.#server.on('error', (error) => options.log.warn('the lock of this proxy answers nobody', { error }))
    this.#server.listen({ fd: options.fd })
  }

  /** Aborts when another proxy serves in the place of this one. */
  get retired(): AbortSignal {
    return this.#retiring.signal
  }

  /** Resolves when nobody wants to take over, or somebody has, or it takes too long. */
  async untilNobodyComes(withinMs: number): Promise<void> {
    const { clock } = this.#options
    const deadline = clock.monotonic() + withinMs
    while (this.#coming.size > 0 && !this.retired.aborted && clock.monotonic() < deadline)
      await clock.sleep(sendAgainMs, this.#ending.signal).catch(() => {})
  }

  /** Whoever waits notices at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort()
    this.#close()
  }

  #close(): void {
    this.#server.close()
    for (const socket of this.#newcomers) socket.destroy()
  }

  #meet(socket: Socket): void {
    const { self, libc, uid, log } = this.#options
    socket.on('error', () => {})
    const peer = peerOf(libc, descriptorOf(socket) ?? -1)
    // Everybody may know who runs here.
    this.#say(socket, { kind: 'running', protocol: protocolNumber, ...self })
    const isTrusted = peer !== undefined && isTrustedNewcomer(peer, uid)
    // An end alone would leave it open until the other side closes, too: strangers could hold as many as they like.
    if (!isTrusted || this.#newcomers.size >= mostNewcomers) return socket.destroySoon()
    this.#newcomers.add(socket)
    socket.on('close', () => this.#left(socket))
    // It tells of an error of the socket once more, and would end the process if nobody listened.
    const lines = createInterface({ input: socket }).on('error', () => {})
    lines.on('line', (line) => {
      this.#heard(socket, line).catch((error: unknown) => {
        log.error('handing over failed', { error })
        socket.destroy()
      })
    })
  }

  async #heard(socket: Socket, line: string): Promise<void> {
    const message = parseFromNewcomer(line)
    switch (message?.kind) {
      case 'coming': {
        const { kind: _kind, ...identity } = message
        return void this.#coming.set(socket, identity)
      }
      case 'hand over':
        return this.#handOver(socket)
      case 'serving':
        return this.#retire(socket)
      case undefined:
        return void socket.destroy()
      default:
        return message satisfies never
    }
  }

  async #handOver(socket: Socket): Promise<void> {
    const { gate, sockets, log, fd } = this.#options
    if (this.#successor !== undefined) return this.#say(socket, { kind: 'busy' })
    this.#successor = socket
    log.info('handing over to another proxy: this one programs nothing from now on', {
      ...this.#coming.get(socket),
      sockets: sockets.open.length,
    })
    await gate.close()
    const lock = { use: 'the lock', protocol: 'TCP', ip: '', port: 0, fd } as const
    await this.#pass(socket, [lock])
    const all = sockets.open
    for (let at = 0; at < all.length; at += socketsPerMessage)
      await this.#pass(socket, all.slice(at, at + socketsPerMessage))
    this.#say(socket, { kind: 'yours', count: all.length })
  }

  #retire(socket: Socket): void {
    if (socket !== this.#successor) return void socket.destroy()
    const { sockets, log } = this.#options
    log.info('another proxy serves in the place of this one', { ...this.#coming.get(socket) })
    sockets.areShared = true
    this.#say(socket, { kind: 'retired' })
    this.#newcomers.delete(socket)
    socket.end()
    this.#close()
    this.#retiring.abort()
  }

  #left(socket: Socket): void {
    const { gate, log } = this.#options
    this.#newcomers.delete(socket)
    const identity = this.#coming.get(socket)
    this.#coming.delete(socket)
    if (socket !== this.#successor || this.retired.aborted || this.#ending.signal.aborted) return
    this.#successor = undefined
    log.warn('the proxy that was taking over has ended: this one goes on', { ...identity })
    gate.open()
  }

  #say(socket: Socket, message: FromRunning): void {
    if (!socket.destroyed) socket.write(renderMessage(message))
  }

  /** Node's socket cannot send descriptors, so this goes past it; what Node was told to send has been sent. */
  async #pass(socket: Socket, sockets: readonly KeptSocket[]): Promise<void> {
    const { libc, clock } = this.#options
    const named = sockets.map(({ fd: _fd, ...name }) => name)
    let bytes = renderMessage({ kind: 'sockets', sockets: named })
    let descriptors = sockets.map(({ fd }) => fd)
    while (bytes.length > 0 && !socket.destroyed) {
      const sent = socket.writableLength > 0 ? 0 : libc.sendDescriptors(descriptorOf(socket) ?? -1, bytes, descriptors)
      if (sent < 0 && !mayWait.has(-sent)) return void socket.destroy()
      if (sent <= 0) await clock.sleep(sendAgainMs, this.#ending.signal)
      else [bytes, descriptors] = [bytes.subarray(sent), []]
    }
  }
}

/** No room in the socket, or too many descriptors are under way: the other side takes them. */
const mayWait: ReadonlySet<number> = new Set([
  constants.errno.EAGAIN,
  109, // ETOOMANYREFS, which Node does not name
  constants.errno.ENOBUFS,
  constants.errno.EINTR,
])
