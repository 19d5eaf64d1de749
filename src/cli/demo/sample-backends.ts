/** The servers behind the sample application: each says who it is, so that balancing can be seen. */
import { createSocket } from 'node:dgram'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface SampleBackend extends AsyncDisposable {
  readonly name: string
  readonly port: number
}

/** Endpoints of the demo live on loopback: no root, no network, nothing that others can reach. */
export const backendHost = '127.0.0.1'

/** Port 0: any that is free. */
export async function startHttpBackend(name: string, port = 0): Promise<SampleBackend> {
  const server = createServer((request, response) => {
    response.setHeader('Content-Type', 'text/plain')
    response.end(`${name} answers ${request.method} ${request.url}\n`)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, backendHost, resolve)
  })
  return {
    name,
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Sends each datagram back, with its own name in front. */
export async function startUdpBackend(name: string, port = 0): Promise<SampleBackend> {
  const socket = createSocket('udp4')
  socket.on('message', (message, from) => socket.send(`${name} heard ${message.toString()}`, from.port, from.address))
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.bind(port, backendHost, resolve)
  })
  return {
    name,
    port: socket.address().port,
    [Symbol.asyncDispose]: () => new Promise((resolve) => socket.close(() => resolve())),
  }
}
