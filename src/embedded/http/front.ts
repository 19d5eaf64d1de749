/** The listening side of the server: what clients meet. It can be closed and another one opened in front of the same objects. */
import { setMaxListeners } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ConnectionLimit, smallRequestTimeouts } from '../../http/connection-limit.ts'
import { hostPort } from '../../net/ip.ts'
import { ApiServerError } from '../api-server-error.ts'

export interface Front {
  readonly port: number
  /** Ends all watches. Gently: answers that are being sent may finish. */
  close(how: 'gently' | 'at once'): Promise<void>
}

export interface FrontOptions {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  readonly maxConnections: number
}

export async function openFront(
  { host, port, maxConnections }: FrontOptions,
  handlerUntil: (closing: AbortSignal) => RequestListener,
): Promise<Front> {
  const closing = new AbortController()
  // Each watch adds a listener.
  setMaxListeners(0, closing.signal)
  // Go's clients keep an idle connection for 90 seconds. If the server closed it first, a request could be lost on the
  // way.
  const server = createServer({ ...smallRequestTimeouts, keepAliveTimeout: 120_000 }, handlerUntil(closing.signal))
  new ConnectionLimit(maxConnections).bound(server)
  return {
    port: await listen(server, host, port),
    async close(how) {
      closing.abort()
      await close(server, how === 'gently' ? gentleMs : 0)
    },
  }
}

/** A client that does not read its answer is not waited for any longer. */
const gentleMs = 1000

async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(listenError(host, port, cause)))
    server.listen(port, host, resolve)
  })
  return (server.address() as AddressInfo).port
}

function listenError(host: string, port: number, cause: NodeJS.ErrnoException): ApiServerError {
  const where = hostPort(host, port)
  if (cause.code === 'EADDRINUSE')
    return new ApiServerError('port-in-use', `cannot listen on ${where}: the port is in use; choose another`, { cause })
  return new ApiServerError('listen-failed', `cannot listen on ${where}: ${cause.message}`, { cause })
}

async function close(server: Server, withinMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const timer = setTimeout(() => server.closeAllConnections(), withinMs)
  await closed
  clearTimeout(timer)
}
