/** Asks an endpoint from this node whether it answers: by a TCP connection, or by an HTTP request. */
import { request } from 'node:http'
import { connect } from 'node:net'

export interface Target {
  readonly ip: string
  readonly port: number
  readonly check: { readonly kind: 'tcp' } | { readonly kind: 'http'; readonly path: string }
}

const patienceMs = 2_000

/** What kept it from answering; undefined: it has answered. */
export function probeEndpoint(target: Target, signal: AbortSignal): Promise<string | undefined> {
  return target.check.kind === 'tcp' ? connects(target, signal) : answers(target, target.check.path, signal)
}

function connects({ ip, port }: Target, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: ip, port, signal })
    const end = (problem: string | undefined) => {
      // A reset, so that a server which has not accepted yet has nothing to clean up.
      socket.resetAndDestroy()
      resolve(problem)
    }
    socket.setTimeout(patienceMs, () => end(noAnswer))
    socket.on('connect', () => end(undefined))
    socket.on('error', (error) => end(reasonOf(error)))
  })
}

/** As a kubelet judges: from 200 to 399 is well. Redirects are not followed. */
function answers({ ip, port }: Target, path: string, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const headers = { 'user-agent': 'fairlead-health-check', connection: 'close' }
    const asked = request({ host: ip, port, path, headers, agent: false, signal })
    const end = (problem: string | undefined) => {
      clearTimeout(timer)
      asked.destroy()
      resolve(problem)
    }
    // Of the whole answer's head, not of each byte: a server that drips must not hold it up.
    const timer = setTimeout(() => end(noAnswer), patienceMs)
    asked.on('response', ({ statusCode = 0 }) =>
      end(statusCode >= 200 && statusCode < 400 ? undefined : `HTTP status ${statusCode}`),
    )
    asked.on('error', (error) => end(reasonOf(error)))
    asked.end()
  })
}

const noAnswer = `no answer within ${patienceMs / 1000} s`

function reasonOf(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'ECONNREFUSED':
      return 'connection refused'
    case 'ECONNRESET':
      return 'connection reset'
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return 'no route'
    case undefined:
      return error.message
    default:
      return error.code
  }
}
