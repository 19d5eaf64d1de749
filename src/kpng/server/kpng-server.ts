/**
 * Serves the global model and every node's part of it over gRPC, directly on HTTP/2: change sets are encoded once and
 * sent to many clients in one write each, which a general gRPC library cannot do.
 */
import { once } from 'node:events'
import type { Http2Session, IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { noSpan, noTracer } from '../../core/trace.ts'
import type { Span, Tracer } from '../../core/trace.ts'
import { hostPort } from '../../net/ip.ts'
import { WatchReq } from '../proto/generated/localv1/api.ts'
import { GlobalCursor } from '../store/global-cursor.ts'
import type { GlobalStore } from '../store/global-store.ts'
import { LocalAnswers } from '../store/local-answers.ts'
import { LocalCursor } from '../store/local-cursor.ts'
import { causesHeader } from '../wire/causes.ts'
import type { Cause } from '../wire/causes.ts'
import { globalWatchPath, localWatchPath, oldLocalWatchPath, unscopedHeader } from '../wire/grpc-names.ts'
import { addressText, refusePlaintext } from '../plaintext.ts'
import type { ApiAddress } from '../plaintext.ts'
import { Followers } from './followers.ts'
import type { Follower } from './followers.ts'
import { grpcCode, refuse, statusOk } from './grpc-status.ts'
import type { GrpcStatus } from './grpc-status.ts'
import { http2Server } from './http2-server.ts'
import type { ApiHttp2Server } from './http2-server.ts'
import { listenOn } from './listening.ts'
import { Pacer } from './pacer.ts'
import type { TlsSource } from '../../http/tls/tls-source.ts'
import { WatchStream } from './watch-stream.ts'
import type { Watched } from './watch-stream.ts'

export interface KpngServerOptions {
  readonly store: GlobalStore
  readonly bind: ApiAddress
  /** Plaintext without it. */
  readonly tls: TlsSource | undefined
  /** Allows plaintext beyond this machine: everybody who reaches the port can read the state of the cluster. */
  readonly allowsPlaintext: boolean
  readonly servesLocal: boolean
  readonly servesGlobal: boolean
  readonly maxClients: number
  readonly maxRequestBytes: number
  /** The least time between two change sets to a client. */
  readonly pushIntervalMs: number
  readonly metrics: KpngServerMetrics
  /** Absent: nobody records. */
  readonly tracer?: Tracer
  readonly clock: Clock
  readonly log: Logger
}

export interface KpngServerMetrics {
  clients(api: WatchedApi, count: number): void
  sent(api: WatchedApi, operations: number): void
  refused(reason: 'too-many-clients' | 'too-slow'): void
}

export type WatchedApi = 'local' | 'global'

export const silentServerMetrics: KpngServerMetrics = { clients() {}, sent() {}, refused() {} }

const apiByPath: ReadonlyMap<string, WatchedApi> = new Map([
  [localWatchPath, 'local'],
  [oldLocalWatchPath, 'local'],
  [globalWatchPath, 'global'],
])

const pingEveryMs = 30_000
const closeWithinMs = 2_000
/** Of one revision, in traces. */
const mostShownSends = 10

export class KpngServer implements AsyncDisposable {
  readonly #options: KpngServerOptions
  readonly #server: ApiHttp2Server['server']
  readonly #pacer: Pacer
  readonly #answers: LocalAnswers
  readonly #streams = new Set<WatchStream>()
  readonly #followers: Followers
  readonly #clients: Record<WatchedApi, number> = { local: 0, global: 0 }
  /** With when each was last heard of (Unix milliseconds). */
  readonly #sessions = new Map<Http2Session, number>()
  readonly #unsubscribe: () => void
  readonly #stop = new AbortController()
  #shownSends = { revision: 0, count: 0 }

  /** Resolves once the server listens. */
  static async listen(options: KpngServerOptions): Promise<KpngServer> {
    const { bind, tls, allowsPlaintext, clock } = options
    if (tls === undefined && !allowsPlaintext) refusePlaintext(bind, 'serve')
    const http = http2Server(tls)
    const server = new KpngServer(options, http.server)
    await listenOn(http.server, bind)
    void http.renew(clock, server.#stop.signal)
    return server
  }

  private constructor(options: KpngServerOptions, server: ApiHttp2Server['server']) {
    const { store, clock, pushIntervalMs } = options
    this.#options = options
    this.#pacer = new Pacer({ clock, intervalMs: pushIntervalMs })
    this.#answers = new LocalAnswers(store)
    this.#followers = new Followers(clock)
    this.#server = server
    this.#server.on('stream', (stream: ServerHttp2Stream, headers) => this.#onStream(stream, headers))
    this.#server.on('session', (session: ServerHttp2Session) => this.#onSession(session))
    this.#server.on('tlsClientError', (error: Error) =>
      options.log.warn('a client was refused: its TLS handshake failed', { reason: error.message }),
    )
    this.#unsubscribe = store.subscribe(() => {
      this.#followers.revised(store.revision)
      this.#pacer.wake()
    })
  }

  /** As a client writes it: `host:port`, `unix:///path` or `npipe:////./pipe/name`. */
  get address(): string {
    const { bind } = this.#options
    if (bind.kind !== 'tcp') return addressText(bind)
    const { address, port } = this.#server.address() as AddressInfo
    return hostPort(address, port)
  }

  /** Who is served now, and who was until a while ago. */
  followers(): readonly Follower[] {
    return this.#followers.list()
  }

  /** Bytes in memory that clients have not read yet. */
  get unsentBytes(): number {
    let sum = 0
    for (const { unsentBytes } of this.#streams) sum += unsentBytes
    return sum
  }

  /** Ends all streams with a proper status. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.#unsubscribe()
    this.#pacer.close()
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const stream of this.#streams) stream.end(statusOk)
    for (const session of this.#sessions.keys()) session.close()
    const { clock } = this.#options
    const waited = new AbortController()
    await Promise.race([closed, clock.sleep(closeWithinMs, waited.signal).catch(() => {})])
    waited.abort()
    for (const session of this.#sessions.keys()) session.destroy()
    await closed
  }

  #onSession(session: ServerHttp2Session): void {
    this.#sessions.set(session, this.#options.clock.now())
    session.on('close', () => this.#sessions.delete(session))
    session.on('error', () => {}) // the client is gone; 'close' follows
    void this.#watchOver(session)
  }

  /** A client whose machine vanished cannot say so. One that does not answer a ping is disconnected. */
  async #watchOver(session: ServerHttp2Session): Promise<void> {
    const { clock } = this.#options
    const gone = new AbortController()
    session.once('close', () => gone.abort())
    const signal = AbortSignal.any([gone.signal, this.#stop.signal])
    let hasAnswered = true
    while (!signal.aborted) {
      await clock.sleep(pingEveryMs, signal).catch(() => {})
      if (signal.aborted) return
      if (!hasAnswered) return session.destroy()
      hasAnswered = false
      session.ping((error) => {
        hasAnswered = true
        if (error === null) this.#sessions.set(session, clock.now())
      })
    }
  }

  #onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const { store, maxClients, maxRequestBytes, metrics, clock } = this.#options
    const api = this.#apiOf(headers)
    if (api === undefined)
      return refuse(stream, { code: grpcCode.unimplemented, message: `unknown method: ${headers[':path'] ?? ''}` })
    if (this.#streams.size >= maxClients) {
      metrics.refused('too-many-clients')
      return refuse(stream, {
        code: grpcCode.resourceExhausted,
        message: `this server accepts at most ${maxClients} clients`,
      })
    }
    const expire = () => {
      metrics.refused('too-slow')
      watch.end(tooSlow)
      void this.#hangUp(watch, stream.session)
    }
    const watched = api === 'global' ? globalWatch(store, expire) : localWatch(store, this.#answers, headers, expire)
    const watch = new WatchStream(watched, {
      stream,
      store,
      pacer: this.#pacer,
      maxRequestBytes,
      now: () => clock.now(),
      heardAtMs: () => (stream.session && this.#sessions.get(stream.session)) ?? 0,
      wantsCauses: headers[causesHeader] === 'true',
      onSent: (operations) => metrics.sent(api, operations),
      beginSend: (causes, node) => this.#beginSend(causes, node),
    })
    this.#streams.add(watch)
    const left = this.#followers.joined(watch, {
      api,
      peer: stream.session?.socket.remoteAddress ?? '',
      userAgent: headers['user-agent'] ?? '',
    })
    metrics.clients(api, ++this.#clients[api])
    stream.once('close', () => {
      this.#streams.delete(watch)
      left()
      metrics.clients(api, --this.#clients[api])
    })
  }

  /** A client that does not even read from its connection does not notice that its stream has ended. */
  async #hangUp(watch: WatchStream, session: Http2Session | undefined): Promise<void> {
    await this.#options.clock.sleep(closeWithinMs, this.#stop.signal).catch(() => {})
    if (this.#streams.has(watch)) session?.destroy()
  }

  /** What is sent to thousands of nodes is shown for the first few. */
  #beginSend(causes: readonly Cause[], node: string): Span {
    const { store, tracer = noTracer } = this.#options
    if (this.#shownSends.revision !== store.revision) this.#shownSends = { revision: store.revision, count: 0 }
    const [first, ...others] = causes
    if (first === undefined || ++this.#shownSends.count > mostShownSends) return noSpan
    return tracer.start('send', {
      parent: first.context,
      links: others.map(({ context, service }) => ({ context, attributes: { service } })),
      attributes: { 'k8s.node.name': node === '' ? undefined : node, revision: store.revision },
    })
  }

  #apiOf(headers: IncomingHttpHeaders): WatchedApi | undefined {
    if (headers[':method'] !== 'POST' || headers['content-type']?.startsWith('application/grpc') !== true)
      return undefined
    const { servesLocal, servesGlobal } = this.#options
    const api = apiByPath.get(headers[':path'] ?? '')
    return (api === 'local' && servesLocal) || (api === 'global' && servesGlobal) ? api : undefined
  }
}

/** A Reset in the middle of a stream would leave old entries in Go clients; a new stream does not. */
const tooSlow: GrpcStatus = {
  code: grpcCode.unavailable,
  message: 'too many changes since your last request: reconnect for the whole state',
}

function localWatch(
  store: GlobalStore,
  answers: LocalAnswers,
  headers: IncomingHttpHeaders,
  onExpired: () => void,
): Watched {
  const wantsUnscoped = headers[unscopedHeader] === 'true'
  const cursor = new LocalCursor({ store, answers, wantsUnscoped, onExpired })
  return {
    read: (message) => WatchReq.decode(message).NodeName,
    advance: (node) => cursor.advance(node),
    get revision() {
      return cursor.revision
    },
    [Symbol.dispose]: () => cursor[Symbol.dispose](),
  }
}

function globalWatch(store: GlobalStore, onExpired: () => void): Watched {
  const cursor = new GlobalCursor({ store, onExpired })
  return {
    read: () => '',
    advance: () => cursor.advance(),
    get revision() {
      return cursor.revision
    },
    [Symbol.dispose]: () => cursor[Symbol.dispose](),
  }
}
