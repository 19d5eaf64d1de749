/** What the client needs from HTTP, whichever version the server speaks. */
import type { Readable } from 'node:stream'

export interface HttpRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: string | undefined
}

export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Ends when the server ends it; fails when it breaks off or the request is aborted. */
  readonly body: Readable
  /**
   * Once the body has ended: the server has ended it properly. Node.js ends an HTTP/2 body without an error when its
   * connection breaks (seen in 20.20).
   */
  isWhole(): boolean
}

export interface HttpConnection {
  /** False once it is known to be dead; the next request needs a new connection. */
  readonly isUsable: boolean
  /** Rejects with the signal's reason when aborted, else with what went wrong. */
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>
  /** Takes no new requests; those under way may finish. */
  retire(): void
  destroy(): void
}
