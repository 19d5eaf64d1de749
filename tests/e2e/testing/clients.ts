/** Clients of a Service. Each request has a connection of its own, so each is balanced anew. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'

export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

const patienceMs = 5_000

export async function get(url: string): Promise<HttpAnswer> {
  const asked = request(url, { agent: false, signal: AbortSignal.timeout(patienceMs) })
  asked.end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  let body = ''
  for await (const chunk of response.setEncoding('utf8')) body += chunk as string
  return { status: response.statusCode ?? 0, headers: response.headers, body }
}

/** The name of the replica that answers. */
export async function whoAnswers(url: string): Promise<string> {
  const { body } = await get(url)
  return body.split(' ')[0] ?? ''
}

/** The replicas that answer this many requests, each once, sorted. */
export async function whoTakesTurns(url: string, requests: number): Promise<readonly string[]> {
  const names = new Set<string>()
  for (let count = 0; count < requests; count++) names.add(await whoAnswers(url))
  return [...names].sort()
}

/** What `get` fails with: `ECONNREFUSED` when nobody listens, `ECONNRESET` when the proxy turns the client away. */
export async function failureOf(url: string): Promise<string> {
  try {
    const { body } = await get(url)
    return `no failure, but: ${body}`
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
}

/** Sends one datagram and returns the first one that comes back. */
export async function sayOverUdp(text: string, { ip, port }: { ip: string; port: number }): Promise<string> {
  const socket = createSocket('udp4')
  try {
    socket.send(text, port, ip)
    const [message] = (await once(socket, 'message', { signal: AbortSignal.timeout(patienceMs) })) as [Buffer]
    return message.toString()
  } finally {
    socket.close()
  }
}
