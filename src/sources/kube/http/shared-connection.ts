import type { Clock } from '../../../core/clock.ts'
import type { HttpConnection } from './http-connection.ts'
import type { KubeEndpoint } from '../access/kube-access.ts'
import { KubeError } from '../kube-error.ts'
import { openConnection } from './open-connection.ts'
import { Watchdog } from '../watchdog.ts'

const connectTimeoutMs = 15_000

/** The one connection that all requests of a client use. It is replaced when it has died or no longer fits. */
export class SharedConnection implements AsyncDisposable {
  readonly #clock: Clock
  readonly #closed = new AbortController()
  #open: { readonly key: string; readonly connection: Promise<HttpConnection> } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Opens a new one if it died, or if the server's address, our certificate or the CA has changed. */
  async to(endpoint: KubeEndpoint): Promise<HttpConnection> {
    this.#closed.signal.throwIfAborted()
    const key = JSON.stringify([endpoint.server.origin, endpoint.tls])
    const open = this.#open
    if (open?.key === key) {
      const connection = await open.connection
      if (connection.isUsable) return connection
    }
    if (this.#open !== undefined && this.#open !== open) return this.to(endpoint) // another request has replaced it meanwhile
    void open?.connection.then(
      (old) => old.retire(),
      () => {},
    )
    const connection = this.#connect(endpoint)
    const opened = { key, connection }
    this.#open = opened
    connection.catch(() => {
      if (this.#open === opened) this.#open = undefined
    })
    return connection
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort(new KubeError('unreachable', 'the client of the API server has been closed'))
    const connection = await this.#open?.connection.catch(() => undefined)
    connection?.destroy()
  }

  /** Does not end with the request that came first: others wait for the same connection. */
  async #connect(endpoint: KubeEndpoint): Promise<HttpConnection> {
    using patience = new Watchdog({
      clock: this.#clock,
      limitMs: connectTimeoutMs,
      message: `no connection to ${endpoint.server.host}`,
      parent: this.#closed.signal,
    })
    try {
      return await openConnection(endpoint, this.#clock, patience.signal)
    } catch (error) {
      throw patience.signal.aborted ? patience.signal.reason : error
    }
  }
}
