/** An HTTP request from inside a namespace. */
import { get } from 'node:http'
import { hostPort } from '../../../src/net/ip.ts'
import { openTcp } from './ask.ts'
import type { Namespace } from './namespace.ts'

export interface HttpAnswer {
  readonly status: number
  readonly body: string
}

/** The answer, or the word for why there is none. A busy machine may seem silent: ask again when you expect an answer. */
export function fetchFrom(
  client: Namespace,
  ip: string,
  port: number,
  path = '/',
  patienceMs = usualPatienceMs,
): Promise<HttpAnswer | 'silence' | 'refused'> {
  return new Promise((resolve, reject) => {
    const createConnection = () => openTcp(client, { ip, port })
    const request = get({ path, headers: { host: hostPort(ip, port) }, createConnection }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => (body += text))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
    })
    request.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNREFUSED' ? resolve('refused') : reject(error),
    )
    // Node's own timeout starts when the connection is there.
    const timer = setTimeout(() => {
      resolve('silence')
      request.destroy()
    }, patienceMs)
    request.on('close', () => clearTimeout(timer))
  })
}

const usualPatienceMs = 700
