/** The first packet of SCTP connections, made by hand: few kernels have SCTP, but all route and translate it. */
import type { Family } from '../../../src/net/ip.ts'
import { KernelSocket } from './kernel-socket.ts'
import type { Namespace } from './namespace.ts'

const sctp = 132

/** Sends the first packet of a new connection. */
export function sendInit(client: Namespace, family: Family, from: SctpEnd, to: SctpEnd): void {
  using socket = new KernelSocket(client, { family, type: 'raw', protocol: sctp })
  socket.bind(from.ip)
  socket.connect(to.ip)
  socket.send(initPacket(from.port, to.port))
}

export interface SctpEnd {
  readonly ip: string
  readonly port: number
}

/** Sees the SCTP packets that arrive at a host. */
export class SctpEar implements Disposable {
  readonly #socket: KernelSocket
  readonly #family: Family

  constructor(host: Namespace, family: Family) {
    this.#socket = new KernelSocket(host, { family, type: 'raw', protocol: sctp })
    this.#family = family
  }

  /** The port of the next packet, or undefined when there is none. */
  hear(): number | undefined {
    const packet = this.#socket.receive()
    if (!Buffer.isBuffer(packet)) return undefined
    // Raw sockets of IPv4 show the IP header too, whose length is in its first byte.
    const start = this.#family === 'ipv4' ? ((packet[0] ?? 0) & 15) * 4 : 0
    return packet.readUInt16BE(start + 2)
  }

  [Symbol.dispose](): void {
    this.#socket[Symbol.dispose]()
  }
}

/** The common header and one INIT chunk. */
function initPacket(fromPort: number, toPort: number): Buffer {
  const packet = Buffer.alloc(12 + 20)
  packet.writeUInt16BE(fromPort, 0)
  packet.writeUInt16BE(toPort, 2)
  packet.writeUInt8(1, 12)
  packet.writeUInt16BE(20, 14)
  packet.writeUInt32BE(1, 16) // the tag that answers must carry
  packet.writeUInt32BE(65_535, 20)
  packet.writeUInt16BE(1, 24)
  packet.writeUInt16BE(1, 26)
  packet.writeUInt32BE(1, 28)
  // Where it is wrong, the kernel calls the packet invalid and does not translate it.
  packet.writeUInt32LE(crc32c(packet), 8)
  return packet
}

function crc32c(bytes: Buffer): number {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0)
  }
  return ~crc >>> 0
}
