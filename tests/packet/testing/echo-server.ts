/** Servers that tell each client who answered and which address it seemed to come from. */
import { createSocket, type RemoteInfo } from 'node:dgram'
import type { EventEmitter } from 'node:events'
import { createServer } from 'node:net'
import { noLookup } from '../../../src/dataplane/relay/node/udp-flow.ts'
import { familyOf } from '../../../src/net/ip.ts'
import type { Namespace } from './namespace.ts'

export interface Answer {
  readonly answeredBy: string
  readonly sawSource: string
  /** The port that the client was led to. */
  readonly port: number
}

/** Listens on all addresses of the namespace, both families. Without a name it says at which address it was asked. */
export function listenTcp(namespace: Namespace, name: string | undefined, port: number): Disposable {
  const server = createServer((socket) => {
    // Who does not read does not notice that the client has left.
    socket.on('error', () => {}).resume()
    const answeredBy = name ?? plain(socket.localAddress ?? '')
    socket.end(renderAnswer({ answeredBy, sawSource: plain(socket.remoteAddress ?? ''), port }))
  })
  namespace.enter(() => server.listen(port))
  failLoudly(server, `TCP port ${port} of "${name ?? 'all'}"`)
  return { [Symbol.dispose]: () => server.close() }
}

/** Sends back what it gets, for as long as the client stays. */
export function listenEcho(namespace: Namespace, port: number): Disposable {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.pipe(socket)
  })
  namespace.enter(() => server.listen(port))
  failLoudly(server, `TCP port ${port}`)
  return { [Symbol.dispose]: () => server.close() }
}

/** Listens on one address: a server on all addresses would answer from another than it was asked on. */
export function listenUdp(namespace: Namespace, name: string, ip: string, port: number): Disposable {
  const socket = createSocket({ type: familyOf(ip) === 'ipv6' ? 'udp6' : 'udp4', lookup: noLookup })
  socket.on('message', (_message, { address, port: clientPort }: RemoteInfo) => {
    socket.send(renderAnswer({ answeredBy: name, sawSource: plain(address), port }), clientPort, address)
  })
  namespace.enter(() => socket.bind({ port, address: ip, exclusive: true }))
  failLoudly(socket, `UDP port ${port} of "${name}" (${ip})`)
  return { [Symbol.dispose]: () => socket.close() }
}

export function parseAnswer(text: string): Answer {
  return JSON.parse(text) as Answer
}

function renderAnswer(answer: Answer): string {
  return JSON.stringify(answer)
}

/** A server for both families shows IPv4 clients as ::ffff:10.0.0.1. */
function plain(ip: string): string {
  return ip.replace(/^::ffff:(?=\d+\.)/, '')
}

function failLoudly(server: EventEmitter, what: string): void {
  server.on('error', (cause: Error) => {
    throw new Error(`the test cannot listen on ${what}: ${cause.message}`, { cause })
  })
}
