import { once } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import type { ConnectionOptions } from 'node:tls'
import type { HttpConnection, HttpRequest, HttpResponse } from './http-connection.ts'

/**
 * With libuv's 10 probes of 1 s each, a peer that vanished silently is noticed after 25 s. A peer whose kernel still
 * answers while its program hangs is noticed by the watchdog of the request.
 */
const keepAliveAfterMs = 15_000

/** HTTP/1.1: a pool of sockets, one per request under way. */
export class Http1Connection implements HttpConnection {
  readonly #server: URL
  readonly #agent: http.Agent
  #isUsable = true

  /** `tls` is undefined for plain http. */
  constructor(server: URL, tls: ConnectionOptions | undefined) {
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
      return {
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: response,
        isWhole: () => response.complete,
      }
    } catch (error) {
      // The server may have been replaced by one that speaks HTTP/2, so the next request asks again.
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
