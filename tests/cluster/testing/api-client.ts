import { Agent, request as httpsRequest } from 'node:https'
import { request as httpRequest } from 'node:http'
import type { Json } from '../../../src/embedded/resource.ts'

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With the query, from `/api` or `/apis` on. */
  readonly path: string
  readonly body?: Json
  /** JSON unless told otherwise; a patch has one of four kinds. */
  readonly contentType?: string
}

export interface ApiResponse {
  readonly status: number
  readonly body: ApiDocument
}

/** Whatever an API server answered; tests look at what they expect to be there. */
export interface ApiDocument {
  readonly kind?: string
  readonly reason?: string
  readonly message?: string
  readonly metadata?: { readonly resourceVersion?: string; readonly [field: string]: Json | undefined }
  readonly [field: string]: unknown
}

export type SendRequest = (request: ApiRequest) => Promise<ApiResponse>

/** Sends requests to the API server at `url`, as the owner of `token`. */
export function apiClient(url: string, options: { readonly ca?: string; readonly token?: string } = {}): SendRequest {
  const isSecure = url.startsWith('https:')
  // No connection is kept: a server that a test restarts would leave a dead one in the pool.
  const agent = isSecure ? { agent: new Agent({ keepAlive: false, ca: options.ca }) } : {}
  return ({ method, path, body, contentType = 'application/json' }) => {
    const payload = body === undefined ? undefined : JSON.stringify(body)
    const headers = {
      accept: 'application/json',
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
      ...(payload === undefined ? {} : { 'content-type': contentType, 'content-length': Buffer.byteLength(payload) }),
    }
    return new Promise((resolve, reject) => {
      const send = isSecure ? httpsRequest : httpRequest
      const sent = send(new URL(path, url), { method, headers, ...agent }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.once('error', reject)
        response.once('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve({ status: response.statusCode ?? 0, body: parseDocument(text) })
        })
      })
      sent.once('error', reject)
      sent.end(payload)
    })
  }
}

/** Not every answer is JSON: /readyz says "ok". */
function parseDocument(text: string): ApiDocument {
  try {
    return JSON.parse(text) as ApiDocument
  } catch {
    return { message: text }
  }
}
