/** A request on a connection of its own: the answer's headers as they were sent, redirects not followed. */
import { request } from 'node:http'
import type { IncomingHttpHeaders, RequestOptions } from 'node:http'
import { text } from 'node:stream/consumers'
import type { BindAddress } from '../http-server.ts'

export interface RawAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface RawRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Where to connect, if not to the listener's own address. */
  readonly host?: string
  readonly signal?: AbortSignal
  /** Over a socket of this machine instead. */
  readonly socketPath?: string
}

export function rawRequest(to: BindAddress, path: string, options: RawRequest = {}): Promise<RawAnswer> {
  const { method = 'GET', headers = {}, body = '', host = to.ip, signal, socketPath } = options
  return new Promise((resolve, reject) => {
    const place: RequestOptions = socketPath === undefined ? { host, port: to.port } : { socketPath }
    const target: RequestOptions = { ...place, path, method, headers, agent: false, signal }
    const sent = request(target, (answer) => {
      text(answer).then(
        (received) =>
          resolve({ status: answer.statusCode ?? 0, headers: withoutTransport(answer.headers), body: received }),
        reject,
      )
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Without the headers that every server sends. */
function withoutTransport(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const transport = new Set(['date', 'connection', 'content-length', 'keep-alive', 'transfer-encoding'])
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !transport.has(name)))
}
