import { once } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import type { HttpConnection, HttpRequest, HttpResponse } from './http-connection.ts'
import type { TlsOptions } from './tls-options.ts'

/**
 * With libuv's 10 probes of 1 s each, a peer that vanished without a word is noticed after 25 s. The watchdogs of the
 * requests see to peers whose kernel still answers while the program does not.
 */
const keepAliveAfterMs = 15_000

/** HTTP/1.1: a pool of sockets, one per request under way. */
export class Http1Connection implements HttpConnection {
  readonly #server: URL
  readonly #agent: http.Agent
  #isUsable = true

  /** `tls` is undefined for plain http. */
  constructor(server: URL, tls: TlsOptions | undefined) {
    this.#server = server
    const pool = { keepAlive: true, keepAliveMsecs: keepAliveAfterMs }
    this.#agent =
      tls === undefined ? new http.Agent(pool) : new https.Agent({ ...pool, ...tls, ALPNProtocols: ['http/1.1'] })
  }

  get isUsable(): boolean {
    return this.#isUsable
  }

  async send({ method, path, headers, body }: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const { protocol, hostname, port } = this.#server
    const { request } = protocol === 'https:' ? https : http
    const sent = request({
      agent: this.#agent,
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? undefined : Number(port),
      method,
      path,
      headers,
      signal,
    })
    sent.on('socket', (socket) => socket.setKeepAlive(true, keepAliveAfterMs))
    sent.on('error', () => {}) // after the response has begun, its body reports the same
    sent.end(body)
    try {
      const [response] = (await once(sent, 'response')) as [http.IncomingMessage]
      return { status: response.statusCode ?? 0, headers: response.headers, body: response }
    } catch (error) {
      // The next request asks anew what the server speaks; it may have been replaced by one that does HTTP/2.
      this.retire()
      throw error
    }
  }

  retire(): void {
    this.#isUsable = false
    this.#agent.maxFreeSockets = 0 // a socket whose request ends from now on is closed
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
  }

  destroy(): void {
    this.#isUsable = false
    this.#agent.destroy()
  }
}
