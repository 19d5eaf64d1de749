/** A client's view of one connection attempt. */
import { createSocket } from 'node:dgram'
import { connect, type LookupFunction, type Socket } from 'node:net'
import { constants } from 'node:os'
import { noLookup } from '../../../src/dataplane/relay/node/udp-flow.ts'
import { familyOf } from '../../../src/net/ip.ts'
import { type Answer, parseAnswer } from './echo-server.ts'
import { sendEcho } from './icmp-echo.ts'
import type { Namespace } from './namespace.ts'

type Transport = 'tcp' | 'udp' | 'icmp'

export interface Question {
  readonly transport: Transport
  readonly ip: string
  readonly port: number
  /** The client's address, where it has several. */
  readonly source?: string
  /** How long silence counts as waiting. */
  readonly patienceMs: number
}

export type Outcome =
  | { readonly kind: 'answer'; readonly answer: Answer }
  /** Somebody said no: a TCP reset, or "port unreachable". */
  | { readonly kind: 'refused' }
  | { readonly kind: 'silence' }
  /** Any other end, such as a connection that was cut. */
  | { readonly kind: 'failed'; readonly code: string }

export function ask(client: Namespace, question: Question): Promise<Outcome> {
  switch (question.transport) {
    case 'tcp':
      return askTcp(client, question)
    case 'udp':
      return askUdp(client, question)
    case 'icmp':
      return askIcmp(client, question)
    default:
      return question.transport satisfies never
  }
}

/** A connection that is under way. */
export function openTcp(client: Namespace, { ip, port, source }: Pick<Question, 'ip' | 'port' | 'source'>): Socket {
  const family = familyOf(ip) === 'ipv6' ? 6 : 4
  const from = source === undefined ? {} : { localAddress: source }
  // For an address Node makes the socket a moment later, for a name within the lookup: so it gets a name.
  const lookup: LookupFunction = (_host, _options, found) => found(null, ip, family)
  return client.enter(() => connect({ host: 'service', port, family, lookup, ...from }))
}

async function askTcp(client: Namespace, { ip, port, source, patienceMs }: Question): Promise<Outcome> {
  const socket = openTcp(client, { ip, port, ...(source === undefined ? {} : { source }) })
  try {
    return await new Promise<Outcome>((resolve) => {
      let text = ''
      socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      socket.once('end', () => resolve(text === '' ? failed('no answer') : answered(text)))
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(outcomeOf(error)))
      socket.setTimeout(patienceMs, () => resolve({ kind: 'silence' }))
    })
  } finally {
    socket.destroy()
  }
}

async function askUdp(client: Namespace, { ip, port, source, patienceMs }: Question): Promise<Outcome> {
  const isV6 = familyOf(ip) === 'ipv6'
  const socket = createSocket({ type: isV6 ? 'udp6' : 'udp4', lookup: noLookup })
  const timers: NodeJS.Timeout[] = []
  try {
    return await new Promise<Outcome>((resolve) => {
      socket.once('message', (message) => resolve(answered(message.toString())))
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(outcomeOf(error)))
      client.enter(() => socket.bind({ port: 0, address: source ?? (isV6 ? '::' : '0.0.0.0'), exclusive: true }))
      // Only a connected socket is told that the port is unreachable.
      socket.connect(port, ip, () => {
        socket.send('who are you?')
        timers.push(setInterval(() => socket.send('still there?'), resendMs))
      })
      timers.push(setTimeout(() => resolve({ kind: 'silence' }), patienceMs))
    })
  } finally {
    for (const timer of timers) clearTimeout(timer)
    socket.close()
  }
}

async function askIcmp(client: Namespace, question: Question): Promise<Outcome> {
  const errno = await sendEcho(client, question)
  if (errno === undefined) return { kind: 'silence' }
  if (errno === constants.errno.ECONNREFUSED) return { kind: 'refused' }
  // Echoes do not say who sends them; only what no rule touched is answered.
  return errno === 0
    ? { kind: 'answer', answer: { answeredBy: 'beyond', sawSource: '', port: 0 } }
    : failed(`errno ${errno}`)
}

/** A busy machine may lose a datagram. */
const resendMs = 500

function outcomeOf({ code = 'unknown' }: NodeJS.ErrnoException): Outcome {
  return code === 'ECONNREFUSED' ? { kind: 'refused' } : failed(code)
}

function failed(code: string): Outcome {
  return { kind: 'failed', code }
}

function answered(text: string): Outcome {
  return { kind: 'answer', answer: parseAnswer(text) }
}
