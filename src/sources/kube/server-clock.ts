/** What time the API server says it is. */
import type { Clock } from '../../core/clock.ts'
import type { KubeAccess } from './access/kube-access.ts'
import { KubeError } from './kube-error.ts'
import { networkError } from './http/network-error.ts'
import { SharedConnection } from './http/shared-connection.ts'

export interface ServerClock {
  /** From the Date header, which has whole seconds. Undefined: the server sent none. */
  readonly serverMs: number | undefined
  /** Ours, in the middle between question and answer. */
  readonly ownMs: number
  /** How long the answer took. */
  readonly tookMs: number
}

/** Rejects with a KubeError where no answer comes; one that refuses tells the time as well. */
export async function askServerClock(
  access: Pick<KubeAccess, 'resolve'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<ServerClock> {
  const endpoint = await access.resolve()
  await using shared = new SharedConnection(clock)
  try {
    const connection = await shared.to(endpoint)
    const askedAt = clock.monotonic()
    const path = `${endpoint.server.pathname.replace(/\/$/, '')}/version`
    const request = {
      method: 'GET',
      path,
      headers: { accept: 'application/json', ...endpoint.headers },
      body: undefined,
    }
    const response = await connection.send(request, signal)
    response.body.resume()
    const tookMs = clock.monotonic() - askedAt
    const date = Date.parse(String(response.headers['date'] ?? ''))
    return { serverMs: Number.isNaN(date) ? undefined : date, ownMs: clock.now() - tookMs / 2, tookMs }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw error instanceof KubeError ? error : networkError(error, 'GET /version')
  }
}
