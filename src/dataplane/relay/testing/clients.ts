/** What clients of a relay do, and what they see. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SocketAddress } from '../relay.ts'

/** Everything the server sent; or `ECONNRESET` and the like when the connection broke. */
export async function ask(address: SocketAddress, request = '', from?: string): Promise<string> {
  const socket = open(address, from)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.end(request)
  try {
    await once(socket, 'close')
    return Buffer.concat(chunks).toString()
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
}

export async function askTimes(address: SocketAddress, times: number): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {}
  for (let i = 0; i < times; i++) {
    const answer = await ask(address)
    counts[answer] = (counts[answer] ?? 0) + 1
  }
  return counts
}

export function open(address: SocketAddress, from?: string): Socket {
  const local = from === undefined ? {} : { localAddress: from }
  return connect({ host: address.ip, port: address.port, allowHalfOpen: true, noDelay: true, ...local })
}

export interface UdpClient extends AsyncDisposable {
  readonly address: SocketAddress
  /** The answer to this datagram, sent again now and then until it comes: UDP may lose it. */
  ask(address: SocketAddress, datagram: string): Promise<string>
  send(address: SocketAddress, datagram: string | Buffer): void
  /** The next datagram that arrives, with the sender's port. */
  next(): Promise<{ readonly text: string; readonly bytes: number; readonly fromPort: number }>
}

export async function udpClient(ip = '127.0.0.1'): Promise<UdpClient> {
  const socket = createSocket(ip.includes(':') ? 'udp6' : 'udp4')
  socket.bind({ address: ip, port: 0 })
  await once(socket, 'listening')
  const next: UdpClient['next'] = async () => {
    const [datagram, from] = (await once(socket, 'message')) as [Buffer, { port: number }]
    return { text: datagram.toString(), bytes: datagram.length, fromPort: from.port }
  }
  const send: UdpClient['send'] = (address, datagram) => socket.send(datagram, address.port, address.ip)
  return {
    address: { ip, port: socket.address().port },
    send,
    next,
    async ask(address, datagram) {
      for (let attempt = 0; attempt < 100; attempt++) {
        const answer = next()
        send(address, datagram)
        const first = await Promise.race([answer, sleep(100, undefined, { ref: false })])
        if (first?.text.endsWith(`:${datagram}`)) return first.text
      }
      return 'no answer'
    },
    async [Symbol.asyncDispose]() {
      socket.close()
      await once(socket, 'close')
    },
  }
}

/** Waits until the condition holds, and fails with what it saw last when it never does. */
export async function eventually(condition: () => boolean, describe: () => unknown = () => ''): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!condition()) {
    if (performance.now() > deadline)
      throw new Error(`it never became true: ${String(condition)} ${JSON.stringify(describe())}`)
    await sleep(2)
  }
}
