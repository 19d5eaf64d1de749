/** The body of a small request. */
import type { IncomingMessage } from 'node:http'

type Sent =
  | { readonly kind: 'object'; readonly value: object }
  | { readonly kind: 'refused'; readonly status: 400 | 413 | 415; readonly message: string }

const maxBytes = 8 * 1024

/** Only JSON: a page from elsewhere cannot send that without asking first. */
export async function sentJson(request: IncomingMessage): Promise<Sent> {
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json') return refused(415, 'send an object as application/json')
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) return refused(413, `send no more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString())
    if (typeof value === 'object' && value !== null) return { kind: 'object', value }
  } catch {
    // as if it were no object
  }
  return refused(400, 'send an object as application/json')
}

function refused(status: 400 | 413 | 415, message: string): Sent {
  return { kind: 'refused', status, message }
}
