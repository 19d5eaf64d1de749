/** One UDP client's path to one endpoint. Its own socket tells its answers and errors from those of other clients. */
import { createSocket, type Socket } from 'node:dgram'
import { familyOf } from '../../../net/ip.ts'
import type { Ageing } from './age-watch.ts'
import type { UdpEnd } from '../connection-report.ts'
import type { SocketAddress } from '../relay.ts'

/** Datagrams that wait while the socket connects (an instant); more are dropped, as a full socket would. */
const maxWaiting = 64
/** Node queues without end when the kernel's buffer is full; beyond this, datagrams are dropped. */
export const maxSendQueueBytes = 1_048_576

export interface UdpFlowOptions {
  readonly startedAtMs: number
  readonly endpoint: SocketAddress
  /** The endpoint's name in the balancer. */
  readonly name: string
  onAnswer(this: void, datagram: Buffer): void
  onSent(this: void, bytes: number): void
  /** It is too old. The flow is not closed yet. */
  onAged(this: void): void
  onClose(this: void, why: UdpEnd): void
  /** The endpoint refuses (an ICMP error came back), or there is no socket to be had. The flow is closed. */
  onError(this: void, error: Error): void
}

export class UdpFlow implements Ageing {
  readonly endpoint: string
  readonly startedAtMs: number
  /** There is no request and no answer to wait for: only silence. */
  readonly isAnswered = true
  readonly canEnd = true
  lastRead = 0
  readonly end: () => void
  readonly endAtOnce: () => void
  readonly #socket: Socket
  readonly #onSent: (bytes: number) => void
  readonly #onClose: (why: UdpEnd) => void
  #waiting: Buffer[] | undefined = []
  #isClosed = false

  constructor({ startedAtMs, endpoint, name, onAnswer, onSent, onAged, onClose, onError }: UdpFlowOptions) {
    this.endpoint = name
    this.startedAtMs = startedAtMs
    this.end = onAged
    this.endAtOnce = onAged
    const type = familyOf(endpoint.ip) === 'ipv6' ? 'udp6' : 'udp4'
    // Connected, so that the kernel hands over only this endpoint's answers, and its ICMP errors.
    this.#socket = createSocket({ type, lookup: noLookup })
    this.#onSent = onSent
    this.#onClose = onClose
    this.#socket.on('message', (datagram) => {
      this.lastRead++
      onAnswer(datagram)
    })
    this.#socket.on('error', (error) => {
      if (this.#isClosed) return
      this.close('failed')
      onError(error)
    })
    this.#socket.connect(endpoint.port, endpoint.ip, () => this.#sendWaiting())
  }

  send(datagram: Buffer): void {
    if (this.#isClosed) return
    this.lastRead++
    if (this.#waiting !== undefined) {
      if (this.#waiting.length < maxWaiting) this.#waiting.push(datagram)
      return
    }
    if (this.#socket.getSendQueueSize() > maxSendQueueBytes) return
    this.#onSent(datagram.length)
    // With a callback, a failed send does not become an 'error' event; an unreachable endpoint shows when receiving.
    this.#socket.send(datagram, () => {})
  }

  close(why: UdpEnd): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#socket.close()
    this.#onClose(why)
  }

  #sendWaiting(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const datagram of waiting) this.send(datagram)
  }
}

/** Relay addresses are IP addresses: asking the resolver would only delay each datagram. */
export function noLookup(
  ip: string,
  _options: unknown,
  callback: (error: null, address: string, family: number) => void,
): void {
  callback(null, ip, familyOf(ip) === 'ipv6' ? 6 : 4)
}
