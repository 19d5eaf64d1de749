/** The debug pages on a socket of this machine, for Fairlead's own commands: no port, and access rights like a file. */
import { once } from 'node:events'
import { chmod, chown, mkdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import { dirname } from 'node:path'
import type { Logger } from '../../../core/logger.ts'
import { ConnectionLimit, smallRequestTimeouts } from '../../../http/connection-limit.ts'
import { listenLocally, SocketInUseError, socketText } from '../../../http/local-socket.ts'
import type { LocalSocket } from '../../../http/local-socket.ts'
import { pageBehind } from '../../../http/web-pages.ts'
import { aborted } from '../http-server.ts'
import { noSniff, plainText, reply } from '../reply.ts'
import type { HttpHandler } from '../reply.ts'

export interface DebugSocketOptions {
  readonly socket: LocalSocket
  /** Who may connect besides the owner: the number of a group. */
  readonly groupId: number | undefined
  readonly handler: HttpHandler
  readonly maxConnections: number
  readonly log: Logger
}

/** Serves until the signal aborts, or throws a DebugSocketError. */
export async function serveDebugSocket(options: DebugSocketOptions, signal: AbortSignal): Promise<void> {
  await using open = await openDebugSocket(options)
  void open
  await aborted(signal)
}

/** Listens, or throws a DebugSocketError. Disposing closes every connection and removes the file. */
export async function openDebugSocket(options: DebugSocketOptions): Promise<AsyncDisposable> {
  const { socket, handler, log } = options
  const server = createServer(smallRequestTimeouts, (request, response) => {
    // No browser can open a socket file; something in front of it can pass one on.
    const page = pageBehind(request.headers)
    if (page !== undefined)
      return reply(response, 403, { 'Content-Type': plainText, ...noSniff }, `forbidden: ${page}\n`)
    Promise.resolve(handler(request, response)).catch((error: unknown) => {
      log.error('cannot answer a request', { server: 'the debug socket', url: request.url, error })
      response.destroy()
    })
  })
  new ConnectionLimit(options.maxConnections).bound(server)
  try {
    await listen(server, options)
  } catch (error) {
    server.close()
    throw new DebugSocketError(socket, error as NodeJS.ErrnoException)
  }
  log.debug(1, 'listening', { server: 'the debug socket', address: socketText(socket) })
  return { [Symbol.asyncDispose]: () => close(server) }
}

async function listen(server: Server, { socket, groupId }: DebugSocketOptions): Promise<void> {
  const folder = dirname(socket.path)
  const made = socket.kind === 'unix' ? await mkdir(folder, { recursive: true, mode: 0o700 }) : undefined
  const listening = once(server, 'listening')
  listening.catch(() => {}) // it may never come
  await listenLocally(server, socket)
  await listening
  if (groupId === undefined || socket.kind === 'pipe') return
  if (made !== undefined) await share(folder, groupId, 0o750)
  await share(socket.path, groupId, 0o660)
}

/** First the group, then the right: never the right for another group. */
async function share(path: string, groupId: number, mode: number): Promise<void> {
  await chown(path, process.getuid?.() ?? 0, groupId)
  await chmod(path, mode)
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

export class DebugSocketError extends Error {
  override readonly name = 'DebugSocketError'
  readonly reason: 'in-use' | 'not-permitted' | 'failed'

  constructor(socket: LocalSocket, cause: NodeJS.ErrnoException) {
    const where = socketText(socket)
    const [reason, message] = diagnosis(where, cause)
    super(`${message}; --debug-socket names another, or none`, { cause })
    this.reason = reason
  }
}

function diagnosis(
  where: string,
  cause: NodeJS.ErrnoException,
): readonly [reason: DebugSocketError['reason'], message: string] {
  if (cause instanceof SocketInUseError) return ['in-use', cause.message]
  switch (cause.code ?? '') {
    case 'EADDRINUSE':
      return ['in-use', `cannot listen on ${where}: another server uses it`]
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return ['not-permitted', `may not listen on ${where} (${cause.code})`]
    default:
      return ['failed', `cannot listen on ${where}: ${cause.message}`]
  }
}
