import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { ConnectionLimit, smallRequestTimeouts } from '../../http/connection-limit.ts'
import { namesThisMachine, pageBehind } from '../../http/web-pages.ts'
import { descriptorOf } from '../../net/kept-sockets.ts'
import type { KeptSocket, KeptSockets } from '../../net/kept-sockets.ts'
import { hostPort, isLoopback } from '../../net/ip.ts'
import { portAdvice } from '../../net/port-advice.ts'
import { noSniff, plainText, reply, requestTarget, type HttpHandler } from './reply.ts'

export interface BindAddress {
  readonly ip: string
  readonly port: number
}

export interface HttpServerOptions {
  /** For messages: `the health server`. */
  readonly what: string
  readonly bind: BindAddress
  /** Only the family of the address, even if it is the wildcard. */
  readonly isSingleFamily?: boolean
  readonly handler: HttpHandler
  /** Where the listening socket may come from and go to, when one process takes over from another. */
  readonly sockets?: KeptSockets
  /** Servers that share a limit share it here; by default each has its own. */
  readonly connections?: ConnectionLimit
  /** Also answers web pages, on every path. Otherwise only plain health checks do. */
  readonly answersPages?: boolean
  /** Otherwise it is plain HTTP. */
  readonly tls?: ServerTls | undefined
  readonly log: Logger
}

/** Key and certificate of a server, which may be renewed while it runs. */
export interface ServerTls {
  readonly current: { readonly key: Buffer; readonly cert: Buffer }
  /** Asked whenever somebody connects: nothing has to look while nobody does. Returns whether there are new ones. */
  refresh(): boolean
}

/** For servers that are given no limit. */
const defaultConnections = 64
/** Of a server whose successor has the socket. */
const [firstRequestMs, lastAnswersMs] = [500, 2_000]
/** A client that reads nothing of its answer for this long is gone. */
const silenceMs = 60_000

export interface HttpListener extends AsyncDisposable {
  readonly address: BindAddress
}

/** Tries once, or throws a ListenError. Disposing closes every connection, idle ones first, and waits. */
export async function listenHttp(options: HttpServerOptions): Promise<HttpListener> {
  const { what, bind } = options
  const server = newServer(options)
  const connections = options.connections ?? new ConnectionLimit(defaultConnections)
  const kept = keptAs(options)
  connections.bound(server)
  server.timeout = silenceMs
  // A load balancer keeps its connection between two checks, which can be minutes apart. Node's five seconds could
  // close it just as the next check is sent, which would count as failed.
  server.keepAliveTimeout = 180_000
  try {
    const fd = options.sockets?.take(kept)
    if (fd === undefined) await listenOn(server, bind, options.isSingleFamily ?? false)
    else await tryToListen(server, { fd })
  } catch (error) {
    throw new ListenError(what, hostPort(bind.ip, bind.port), error as NodeJS.ErrnoException)
  }
  const { address: ip, port } = server.address() as AddressInfo
  const fd = descriptorOf(server)
  if (fd !== undefined) options.sockets?.opened({ ...kept, fd })
  return {
    address: { ip, port },
    async [Symbol.asyncDispose]() {
      options.sockets?.closed(kept.use)
      await (options.sockets?.areShared === true ? closeGently(server) : close(server))
    },
  }
}

function newServer(options: HttpServerOptions): Server {
  const onRequest = (request: IncomingMessage, response: ServerResponse) => void answer(request, response, options)
  const { tls } = options
  if (tls === undefined) return createServer(smallRequestTimeouts, onRequest)
  const context = () => ({ ...tls.current, minVersion: 'TLSv1.2' as const })
  const timeouts = { ...smallRequestTimeouts, handshakeTimeout: smallRequestTimeouts.headersTimeout }
  const server = createTlsServer({ ...timeouts, ...context() }, onRequest)
  // Before Node's own listener, which begins the handshake.
  server.prependListener('connection', (socket: Socket) => {
    keepHandshake(server, socket)
    if (tls.refresh()) server.setSecureContext(context())
  })
  return server
}

/** Clients of TLS servers, from the first moment: Node knows those whose handshake is done. */
const clientsOf = new WeakMap<Server, Set<Socket>>()

function keepHandshake(server: Server, socket: Socket): void {
  const clients = clientsOf.get(server) ?? new Set()
  clientsOf.set(server, clients.add(socket))
  socket.once('close', () => clients.delete(socket))
}

function closeAllConnections(server: Server): void {
  server.closeAllConnections()
  for (const client of clientsOf.get(server) ?? []) client.destroy()
}

/** Both processes have to mean the same by it. */
function keptAs({ bind: { ip, port }, isSingleFamily = false }: HttpServerOptions): Omit<KeptSocket, 'fd'> {
  return {
    use: `http ${isSingleFamily ? 'one family' : 'any family'} ${hostPort(ip, port)}`,
    protocol: 'TCP',
    ip,
    port,
  }
}

export interface RetryOptions extends HttpServerOptions {
  /** Give up at the first failure: --bind-address-hard-fail. */
  readonly isHardFail: boolean
  readonly clock: Clock
}

const retryAfterMs = 5000

/** Retries every five seconds until the address is free; rejects if the signal aborts first. */
export async function listenWithRetry(options: RetryOptions, signal: AbortSignal): Promise<HttpListener> {
  for (;;) {
    try {
      return await listenHttp(options)
    } catch (error) {
      if (options.isHardFail || !(error instanceof ListenError)) throw error
      options.log.error('cannot listen, will be retried', { error, retryMs: retryAfterMs })
      await options.clock.sleep(retryAfterMs, signal)
    }
  }
}

/** Serves until the signal aborts; rejects only with `isHardFail`. `onListening` gets the real port if it was 0. */
export async function serveHttp(
  options: RetryOptions & { readonly onListening?: (address: BindAddress) => void },
  signal: AbortSignal,
): Promise<void> {
  try {
    await using listener = await listenWithRetry(options, signal)
    options.onListening?.(listener.address)
    options.log.debug(1, 'listening', { server: options.what, ...listener.address })
    await aborted(signal)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

async function listenOn(server: Server, { ip, port }: BindAddress, isSingleFamily: boolean): Promise<void> {
  if (ip !== '0.0.0.0' || isSingleFamily) return tryToListen(server, { host: ip, port, ipv6Only: isSingleFamily })
  // As in Go, the wildcard means both families where the host has them.
  try {
    await tryToListen(server, { host: '::', port, ipv6Only: false })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE' || code === 'EACCES') throw error
    await tryToListen(server, { host: ip, port, ipv6Only: false })
  }
}

function tryToListen(
  server: Server,
  options: { readonly host: string; readonly port: number; readonly ipv6Only: boolean } | { readonly fd: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(options, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    closeAllConnections(server)
  })
}

/** Whoever has connected may ask, and whoever has asked is answered: nobody should notice that another process serves now. */
async function closeGently(server: Server): Promise<void> {
  // Unlike this one, the method of HTTP servers closes connections whose request has not arrived yet.
  const closed = new Promise<unknown>((resolve) => NetServer.prototype.close.call(server, resolve))
  const idle = setTimeout(() => server.closeIdleConnections(), firstRequestMs)
  const all = setTimeout(() => closeAllConnections(server), lastAnswersMs)
  await closed
  clearTimeout(idle)
  clearTimeout(all)
}

async function answer(request: IncomingMessage, response: ServerResponse, options: HttpServerOptions): Promise<void> {
  const refusal = options.answersPages === true ? undefined : whyRefused(request, options.bind)
  if (refusal !== undefined) {
    options.log.debug(2, 'a request is refused', { server: options.what, url: request.url, why: refusal })
    return reply(response, 403, { 'Content-Type': plainText, ...noSniff }, `forbidden: ${refusal}\n`)
  }
  try {
    await options.handler(request, response)
  } catch (error) {
    const fields = { server: options.what, url: request.url, error }
    if (response.destroyed) return options.log.debug(2, 'a client disconnected before its answer was complete', fields)
    options.log.error('cannot answer a request', fields)
    if (response.headersSent) response.destroy()
    else reply(response, 500, { 'Content-Type': plainText, ...noSniff }, 'internal error, see the log\n')
  }
}

/** Load balancers and kubelets use any host name for these, and the answer contains nothing to protect. */
const openPaths: ReadonlySet<string> = new Set(['/healthz', '/healthz/ping', '/livez', '/readyz'])

function whyRefused(request: IncomingMessage, bind: BindAddress): string | undefined {
  if (openPaths.has(requestTarget(request).path)) return undefined
  const page = pageBehind(request.headers)
  if (page !== undefined) return `${page}; this server answers programs only`
  // Beyond loopback any name may be right: Prometheus uses the names of Services.
  if (!isLoopback(bind.ip) || namesThisMachine(request.headers.host)) return undefined
  return `the Host header names "${request.headers.host ?? ''}"; use localhost or an IP address`
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** A server could not get its port. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
  readonly reason: 'in-use' | 'not-permitted' | 'no-such-address' | 'failed'

  constructor(what: string, address: string, cause: NodeJS.ErrnoException, platform = process.platform) {
    const [reason, wayOut] = diagnoses(platform)[cause.code ?? ''] ?? ['failed', cause.message]
    super(`cannot listen on ${address} for ${what}: ${wayOut}`, { cause })
    this.reason = reason
  }
}

function diagnoses(
  platform: NodeJS.Platform,
): Readonly<Record<string, readonly [reason: ListenError['reason'], wayOut: string]>> {
  return {
    EADDRINUSE: [
      'in-use',
      'the port is in use; stop the process that has it (another kube-proxy?) or choose another port',
    ],
    EACCES: ['not-permitted', `not permitted; ${portAdvice(platform)}`],
    EADDRNOTAVAIL: ['no-such-address', 'it is not an address of this host; choose one that is, or 0.0.0.0'],
  }
}
