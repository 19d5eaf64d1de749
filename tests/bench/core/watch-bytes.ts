import type { JsonObject } from '../../../src/api/json-reader.ts'

export function watchEvent(type: 'ADDED' | 'MODIFIED' | 'BOOKMARK', object: JsonObject): string {
  return `${JSON.stringify({ type, object })}\n`
}

/** One chunk of HTTP's chunked transfer coding. */
export function httpChunk(text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}
