/** A UDP client that keeps its port, as resolvers do: the kernel remembers where its datagrams go. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { noLookup } from '../../../src/dataplane/relay/node/udp-flow.ts'
import { familyOf } from '../../../src/net/ip.ts'
import { parseAnswer } from './echo-server.ts'
import type { Namespace } from './namespace.ts'

export class UdpTalker implements Disposable {
  readonly #socket: Socket
  readonly #ip: string
  readonly #port: number

  constructor(client: Namespace, ip: string, port: number) {
    const isV6 = familyOf(ip) === 'ipv6'
    this.#ip = ip
    this.#port = port
    this.#socket = createSocket({ type: isV6 ? 'udp6' : 'udp4', lookup: noLookup })
    client.enter(() => this.#socket.bind({ port: 0, address: isV6 ? '::' : '0.0.0.0', exclusive: true }))
  }

  /** Sends one datagram; who answered, or undefined when nobody did in time. A busy machine may lose one: ask again. */
  async ask(): Promise<string | undefined> {
    const answered = once(this.#socket, 'message', { signal: AbortSignal.timeout(300) })
    this.#socket.send('who are you?', this.#port, this.#ip)
    try {
      const [message] = (await answered) as [Buffer]
      return parseAnswer(message.toString()).answeredBy
    } catch {
      return undefined
    }
  }

  [Symbol.dispose](): void {
    this.#socket.close()
  }
}
