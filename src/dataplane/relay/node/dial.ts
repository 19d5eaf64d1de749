/** Connects to an endpoint, or to the next one, until the list of timeouts is used up. */
import { connect, type Socket } from 'node:net'
import type { Choice } from './balancer.ts'
import { timedOutCode } from '../dial-failure.ts'
import { isOutOfDescriptors } from '../descriptor-budget.ts'
import type { ReadBuffers } from './read-buffers.ts'
import { RelaySocket } from './relay-socket.ts'
import type { Full, SocketAddress } from '../relay.ts'

/** As Go sets them on every connection: small writes leave at once, dead peers are noticed. */
const socketOptions = { allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: 15_000 }

export type DialOutcome =
  | { readonly ok: true; readonly socket: RelaySocket; readonly choice: Choice }
  | { readonly ok: false; readonly why: 'no-endpoint' | 'unreachable' | 'overload' | 'client-left' | Full }

export type Chosen = Choice | Full | 'client-left' | undefined

export interface DialRequest {
  readonly timeoutsMs: readonly number[]
  /** Each attempt asks anew, so a list that changes meanwhile is respected. */
  choose(timeoutMs: number): Chosen | Promise<Chosen>
  failed(choice: Choice, error: unknown): void
  /** Dialling stops when this client closes. */
  readonly client: Socket
  readonly buffers: ReadBuffers
}

export async function dialAnyEndpoint(request: DialRequest): Promise<DialOutcome> {
  for (const timeoutMs of request.timeoutsMs) {
    if (request.client.destroyed) return { ok: false, why: 'client-left' }
    const chosen = request.choose(timeoutMs)
    // Nearly always there is one at once.
    const choice = chosen instanceof Promise ? await chosen : chosen
    if (choice === undefined) return { ok: false, why: 'no-endpoint' }
    if (typeof choice === 'string') return { ok: false, why: choice }
    try {
      return { ok: true, socket: await dial(choice.endpoint, timeoutMs, request), choice }
    } catch (error) {
      choice.leave()
      // Neither a client that left nor our own shortage says anything about the endpoint.
      if (request.client.destroyed) return { ok: false, why: 'client-left' }
      if (isOutOfDescriptors(error)) return { ok: false, why: 'overload' }
      request.failed(choice, error)
    }
  }
  return { ok: false, why: 'unreachable' }
}

function dial(to: SocketAddress, timeoutMs: number, { client, buffers }: DialRequest): Promise<RelaySocket> {
  return new Promise((resolve, reject) => {
    const relaySocket = new RelaySocket(buffers, (onread) =>
      connect({
        host: to.ip,
        port: to.port,
        autoSelectFamily: false,
        timeout: timeoutMs,
        onread,
        ...socketOptions,
      }).pause(),
    )
    const { socket } = relaySocket
    const giveUp = () => {
      const late = Object.assign(new Error(`no answer within ${timeoutMs} ms`), { code: timedOutCode })
      if (socket.connecting) socket.destroy(late)
    }
    // Timers come before sockets in a turn of the event loop: after a busy moment the answer may be there already.
    const onTimeout = () => setImmediate(giveUp)
    const onClientClose = () => socket.destroy(new Error('the client has left'))
    socket.once('timeout', onTimeout)
    client.once('close', onClientClose)
    socket.once('error', (error) => {
      client.off('close', onClientClose)
      reject(error)
    })
    socket.once('connect', () => {
      client.off('close', onClientClose)
      socket.off('timeout', onTimeout)
      socket.setTimeout(0)
      resolve(relaySocket)
    })
  })
}
