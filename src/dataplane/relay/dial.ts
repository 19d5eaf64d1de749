/** Connects to an endpoint, or to the next one, until the list of timeouts is used up. */
import { connect, type Socket } from 'node:net'
import type { Choice } from './balancer.ts'
import { isOutOfDescriptors } from './descriptor-budget.ts'
import type { SocketAddress } from './relay.ts'

/** As Go sets them on every connection: small writes leave at once, dead peers are noticed. */
export const socketOptions = { allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: 15_000 }

export type DialOutcome =
  | { readonly ok: true; readonly socket: Socket; readonly choice: Choice }
  | { readonly ok: false; readonly why: 'no-endpoint' | 'unreachable' | 'overload' | 'client-left' }

export interface DialRequest {
  readonly timeoutsMs: readonly number[]
  /** Each attempt asks anew, so a list that changes meanwhile is respected. */
  choose(): Choice | undefined
  failed(choice: Choice, error: unknown): void
  /** The client has gone: there is nobody left to dial for. */
  isPointless(): boolean
}

export async function dialSomewhere(request: DialRequest): Promise<DialOutcome> {
  for (const timeoutMs of request.timeoutsMs) {
    if (request.isPointless()) return { ok: false, why: 'client-left' }
    const choice = request.choose()
    if (choice === undefined) return { ok: false, why: 'no-endpoint' }
    try {
      return { ok: true, socket: await dial(choice.endpoint, timeoutMs), choice }
    } catch (error) {
      // Our own shortage says nothing about the endpoint.
      if (isOutOfDescriptors(error)) return { ok: false, why: 'overload' }
      request.failed(choice, error)
    }
  }
  return { ok: false, why: 'unreachable' }
}

function dial(to: SocketAddress, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: to.ip,
      port: to.port,
      autoSelectFamily: false,
      timeout: timeoutMs,
      ...socketOptions,
    })
    const onTimeout = () => socket.destroy(new Error(`no answer within ${timeoutMs} ms`))
    socket.once('timeout', onTimeout)
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('timeout', onTimeout)
      socket.setTimeout(0)
      resolve(socket)
    })
  })
}
