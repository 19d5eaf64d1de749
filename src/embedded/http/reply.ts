import type { ServerResponse } from 'node:http'
import { stringify as renderYaml } from 'yaml'
import { statusOf } from '../status.ts'
import type { ApiError } from '../status.ts'

export interface Reply {
  readonly status: number
  /** Text or bytes are sent as they are; an object is rendered. */
  readonly body: string | object | Buffer
  /** `application/json` by default. */
  readonly mediaType?: string
  /** kubectl prints them. */
  readonly warnings?: readonly string[]
}

export function sendReply(response: ServerResponse, reply: Reply): void {
  const { mediaType = 'application/json', warnings = [] } = reply
  const bytes = Buffer.isBuffer(reply.body) ? reply.body : Buffer.from(renderBody(reply.body, mediaType))
  if (warnings.length > 0)
    response.setHeader(
      'warning',
      warnings.map((text) => `299 - ${quoted(text)}`),
    )
  response.writeHead(reply.status, {
    'content-type': mediaType,
    'content-length': bytes.length,
    'cache-control': 'no-cache, private',
  })
  response.end(bytes)
}

export function sendError(response: ServerResponse, error: ApiError): void {
  const { retryAfterSeconds } = error.details ?? {}
  if (retryAfterSeconds !== undefined) response.setHeader('retry-after', retryAfterSeconds)
  sendReply(response, { status: error.code, body: statusOf(error) })
}

function renderBody(body: string | object, mediaType: string): string {
  if (mediaType === 'application/yaml') return renderYaml(typeof body === 'string' ? JSON.parse(body) : body)
  return typeof body === 'string' ? body : JSON.stringify(body)
}

/** Header values are Latin-1 without line feeds. */
function quoted(text: string): string {
  return `"${text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&')}"`
}
