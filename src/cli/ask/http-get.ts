/** One GET, over a socket of this machine or over HTTP. */
import { request } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, RequestOptions } from 'node:http'
import type { ServerAddress } from './server-address.ts'

export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** What is longer does not come from Fairlead. */
const longestBody = 64 * 1024 * 1024

export function httpGet(address: ServerAddress, path: string, signal: AbortSignal): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const asked = request({ ...targetOf(address), path, agent: false, signal }, (answer) => {
      readBody(answer).then(
        (body) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }),
        reject,
      )
    })
    asked.on('error', reject)
    asked.end()
  })
}

function targetOf(address: ServerAddress): RequestOptions {
  if (address.kind !== 'http') return { socketPath: address.path, headers: { Host: 'localhost' } }
  const { hostname, port } = address.url
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 80 : Number(port) }
}

async function readBody(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > longestBody) throw new Error('the answer is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
