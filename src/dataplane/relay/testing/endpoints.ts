/** Small servers that stand for pods, on loopback and on any free port. */
import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import type { SocketAddress } from '../relay.ts'

export interface TestEndpoint extends AsyncDisposable {
  readonly address: SocketAddress
  /** Connections or datagrams that arrived. */
  readonly arrivals: number
  /** Connections that are open. */
  readonly open: number
}

export async function tcpEndpoint(
  onConnection: (socket: Socket) => void,
  { ip = '127.0.0.1' } = {},
): Promise<TestEndpoint> {
  const sockets = new Set<Socket>()
  let arrivals = 0
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    arrivals++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    onConnection(socket)
  })
  server.listen({ port: 0, host: ip, backlog: 2048 })
  await once(server, 'listening')
  return {
    address: { ip, port: (server.address() as AddressInfo).port },
    get arrivals() {
      return arrivals
    },
    get open() {
      return sockets.size
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Says its name and ends. */
export function namedEndpoint(name: string, options?: { readonly ip?: string }): Promise<TestEndpoint> {
  return tcpEndpoint((socket) => {
    socket.resume()
    socket.end(name)
  }, options)
}

/** Sends back what it gets, until the client ends. */
export function echoEndpoint(options?: { readonly ip?: string }): Promise<TestEndpoint> {
  return tcpEndpoint((socket) => socket.pipe(socket), options)
}

/** Answers each datagram with `name:datagram`. */
export async function udpEndpoint(name: string, { ip = '127.0.0.1', port = 0 } = {}): Promise<TestEndpoint> {
  const socket = createSocket(ip.includes(':') ? 'udp6' : 'udp4')
  let arrivals = 0
  socket.on('message', (datagram: Buffer, from: RemoteInfo) => {
    arrivals++
    socket.send(Buffer.concat([Buffer.from(`${name}:`), datagram]), from.port, from.address)
  })
  socket.bind({ address: ip, port })
  await once(socket, 'listening')
  return {
    address: { ip, port: socket.address().port },
    get arrivals() {
      return arrivals
    },
    open: 0,
    async [Symbol.asyncDispose]() {
      socket.close()
      await once(socket, 'close')
    },
  }
}

/** An address where nobody listens: connections are refused at once. */
export async function refusingAddress(ip = '127.0.0.1'): Promise<SocketAddress> {
  const endpoint = await namedEndpoint('nobody', { ip })
  await endpoint[Symbol.asyncDispose]()
  return endpoint.address
}

/** Accepts nothing: its thread sleeps and its queue is full, so the kernel drops each further connection request. */
export async function silentEndpoint(): Promise<TestEndpoint> {
  const asleep = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads')
     const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
       parentPort.postMessage(server.address().port)
       setImmediate(() => Atomics.wait(workerData, 0, 0))
     })`,
    { eval: true, workerData: asleep },
  )
  const [port] = (await once(worker, 'message')) as [number]
  const fillers = await fillQueue(port)
  return {
    address: { ip: '127.0.0.1', port },
    arrivals: 0,
    open: 0,
    async [Symbol.asyncDispose]() {
      for (const filler of fillers) filler.destroy()
      Atomics.store(asleep, 0, 1)
      Atomics.notify(asleep, 0)
      await worker.terminate()
    },
  }
}

async function fillQueue(port: number): Promise<readonly Socket[]> {
  const { connect } = await import('node:net')
  const fillers = Array.from({ length: 8 }, () => connect({ host: '127.0.0.1', port }).on('error', () => {}))
  // Those that fit into the queue connect; at least one does, and at least one does not.
  await Promise.race(fillers.map((filler) => once(filler, 'connect')))
  return fillers
}
