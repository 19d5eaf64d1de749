import * as http2 from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../../../core/clock.ts'
import type { HttpConnection, HttpRequest, HttpResponse } from './http-connection.ts'

/** A dead peer is noticed within 25 s. */
const pingEveryMs = 15_000
const pingTimeoutMs = 10_000

/** With the default of 64 KB, a list over a slow link would stop and wait all the time. */
const streamWindowBytes = 4 * 1024 * 1024
const sessionWindowBytes = 16 * 1024 * 1024

/** HTTP/2: all requests share one socket. */
export class Http2Connection implements HttpConnection {
  readonly #session: http2.ClientHttp2Session
  readonly #socket: TLSSocket
  readonly #authority: string
  readonly #closed = new AbortController()

  constructor(server: URL, socket: TLSSocket, clock: Clock) {
    this.#authority = server.host
    this.#socket = socket
    this.#session = http2.connect(server, {
      createConnection: () => socket,
      settings: { initialWindowSize: streamWindowBytes, enablePush: false },
    })
    this.#session.on('connect', () => this.#session.setLocalWindowSize(sessionWindowBytes))
    this.#session.on('error', () => {}) // each stream gets the error as well
    this.#session.on('close', () => this.#closed.abort())
    void this.#watchPeer(clock)
  }

  get isUsable(): boolean {
    return !this.#session.closed && !this.#session.destroyed
  }

  send({ method, path, headers, body }: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      const stream = this.#session.request(
        { ...headers, ':method': method, ':path': path, ':authority': this.#authority },
        { signal, endStream: body === undefined },
      )
      if (body !== undefined) stream.end(body)
      stream.on('error', reject) // also for errors after the answer began, which the body reports
      stream.once('close', () => reject(new Error('the server closed the request without an answer')))
      stream.once('response', (answer) => {
        const { ':status': status = 0, ...rest } = answer
        resolve({
          status,
          headers: rest,
          body: stream,
          isWhole: () => stream.rstCode === http2.constants.NGHTTP2_NO_ERROR,
        })
      })
    })
  }

  retire(): void {
    this.#session.close()
  }

  destroy(): void {
    this.#session.destroy()
  }

  async #watchPeer(clock: Clock): Promise<void> {
    const closed = this.#closed.signal
    for (;;) {
      await clock.sleep(pingEveryMs, closed).catch(() => {})
      if (closed.aborted) return
      const bytesRead = this.#socket.bytesRead
      // In a large list the answer queues behind the data, so any byte shows that the peer is alive.
      if ((await this.#ping(clock)) || this.#socket.bytesRead !== bytesRead) continue
      this.#session.destroy(new Error(`no answer to a PING in ${pingTimeoutMs / 1000} s: the connection is dead`))
      return
    }
  }

  async #ping(clock: Clock): Promise<boolean> {
    const answered = new AbortController()
    const onClosed = () => answered.abort()
    this.#closed.signal.addEventListener('abort', onClosed, { once: true })
    try {
      this.#session.ping(() => answered.abort())
      await clock.sleep(pingTimeoutMs, answered.signal)
      return false
    } catch {
      return true // answered, or closed meanwhile, which the caller notices
    } finally {
      this.#closed.signal.removeEventListener('abort', onClosed)
    }
  }
}
