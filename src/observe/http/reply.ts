import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'

/** Answers one request. What it throws becomes a 500 and a log line; it never ends the process. */
export type HttpHandler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

export const plainText = 'text/plain; charset=utf-8'

export function reply(response: ServerResponse, status: number, headers: OutgoingHttpHeaders, body: string): void {
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) })
  response.end(body)
}

/** Keeps browsers from guessing another type. Kubernetes sends it with most answers. */
export const noSniff = { 'X-Content-Type-Options': 'nosniff' } as const

export function replyNotFound(response: ServerResponse): void {
  reply(response, 404, { 'Content-Type': plainText, ...noSniff }, '404 page not found\n')
}

/** Path and query of a request, without normalisation: `/healthz/` and `//healthz` are not `/healthz`. */
export function requestTarget(request: IncomingMessage): { readonly path: string; readonly query: URLSearchParams } {
  const [path = '', ...query] = (request.url ?? '').split('?')
  return { path, query: new URLSearchParams(query.join('?')) }
}
