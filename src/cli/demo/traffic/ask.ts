/** One question of one client to a Service: the name of the replica that answers; empty: nobody did. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'

export interface Question {
  /** The client's own address; undefined: whatever the machine takes. */
  readonly from: string | undefined
  readonly to: { readonly ip: string; readonly port: number; readonly protocol: 'TCP' | 'UDP' }
}

const patienceMs = 2_000
/** Somebody may have put another server behind the Service. */
const longestAnswer = 200

export async function ask(question: Question, signal: AbortSignal): Promise<string> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)])
  try {
    const answer = await (question.to.protocol === 'UDP' ? sayHello : get)(question, patience)
    return /^[\w.-]{1,63}(?= )/.exec(answer)?.[0] ?? 'somebody'
  } catch {
    return ''
  }
}

/** On a connection of its own, so that each question is balanced anew. */
async function get({ from, to }: Question, signal: AbortSignal): Promise<string> {
  const asked = request({
    host: to.ip,
    port: to.port,
    path: '/',
    agent: false,
    signal,
    ...(from !== undefined && { localAddress: from }),
  })
  try {
    asked.end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) {
      text += chunk as string
      if (text.length > longestAnswer) break
    }
    return text
  } finally {
    asked.on('error', () => {}).destroy()
  }
}

/** From a port of its own, so that each question is a flow of its own. */
async function sayHello({ from, to }: Question, signal: AbortSignal): Promise<string> {
  const socket = createSocket('udp4')
  try {
    socket.bind(0, from)
    await once(socket, 'listening', { signal })
    socket.send('hello', to.port, to.ip)
    const [message] = (await once(socket, 'message', { signal })) as [Buffer]
    return message.toString('utf8', 0, longestAnswer)
  } finally {
    socket.on('error', () => {}).close()
  }
}
