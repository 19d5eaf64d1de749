import { Agent, request as httpsRequest } from 'node:https'
import type { IncomingHttpHeaders } from 'node:http'
import type { SendRequest } from '../../../src/embedded/testing/api-client.ts'

/** Requests to a server with a certificate of `ca`, as the owner of `token`. */
export function httpsRequests(
  url: string,
  { ca, token }: { readonly ca: string; readonly token: string },
): SendRequest {
  // No connection is kept: a server that a test restarts would leave a dead one in the pool.
  const agent = new Agent({ keepAlive: false, ca })
  return ({ method, path, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      // Node sends the body of a DELETE without its length, and then the server does not see it.
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
      const options = { method, agent, headers: { ...headers, ...length, authorization: `Bearer ${token}` } }
      const sent = httpsRequest(
        new URL(path, url),
        signal === undefined ? options : { ...options, signal },
        (response) => resolve({ status: response.statusCode ?? 0, headers: flatten(response.headers), body: response }),
      )
      sent.once('error', reject)
      sent.end(body)
    })
}

function flatten(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value ?? []].flat().join(', ')]))
}
