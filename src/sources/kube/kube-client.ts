import { systemClock } from '../../core/clock.ts'
import type { Clock } from '../../core/clock.ts'
import type { HttpResponse } from './http/http-connection.ts'
import type { KubeAccess, KubeEndpoint } from './access/kube-access.ts'
import { KubeError } from './kube-error.ts'
import { abortable } from './abortable.ts'
import { AnswerBody } from './http/answer-body.ts'
import { readListItems } from './http/list-items.ts'
import { networkError } from './http/network-error.ts'
import { SharedConnection } from './http/shared-connection.ts'
import { errorFromResponse } from './status-error.ts'
import { TokenBucket } from './http/token-bucket.ts'
import { userAgent } from './http/user-agent.ts'
import { Watchdog } from './watchdog.ts'

export interface KubeRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  /** Undefined values are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  /** Sent as JSON. */
  readonly body?: unknown
  readonly contentType?: string
}

export interface KubeClientOptions {
  readonly access: Pick<KubeAccess, 'resolve' | 'reject'>
  readonly version: string
  /** Requests per second of this client in the long run; negative for no limit, 0 for the default. */
  readonly qps?: number
  readonly burst?: number
  readonly clock?: Clock
  readonly metrics?: RequestMetrics
}

export interface RequestMetrics {
  /** The headers of an answer have arrived; without a status, no answer came. */
  requestFinished(request: {
    readonly method: string
    readonly host: string
    readonly status: number | undefined
    readonly seconds: number
  }): void
}

const defaultQps = 5
const defaultBurst = 10
/** The longest silence in a request other than a watch. */
const silenceLimitMs = 30_000
/** The longest time for a request other than a watch, however slowly its bytes arrive. */
const requestLimitMs = 5 * 60_000

/** Every failure but an abort is a KubeError. */
export class KubeClient implements AsyncDisposable {
  readonly clock: Clock
  readonly #access: KubeClientOptions['access']
  readonly #bucket: TokenBucket
  readonly #userAgent: string
  readonly #metrics: RequestMetrics | undefined
  readonly #connection: SharedConnection

  constructor({
    access,
    version,
    qps = defaultQps,
    burst = defaultBurst,
    clock = systemClock,
    metrics,
  }: KubeClientOptions) {
    this.#metrics = metrics
    this.#access = access
    this.clock = clock
    this.#bucket = new TokenBucket({
      clock,
      qps: qps === 0 ? defaultQps : qps,
      burst: burst === 0 ? defaultBurst : burst,
    })
    this.#userAgent = userAgent(version)
    this.#connection = new SharedConnection(clock)
  }

  async request(request: KubeRequest, signal: AbortSignal): Promise<unknown> {
    const chunks: Buffer[] = []
    for await (const chunk of this.#boundedBody(request, signal)) chunks.push(chunk)
    return parseJson(Buffer.concat(chunks), describe(request))
  }

  /** Passes on the items as they arrive. Returns the answer without them. */
  list(request: KubeRequest, onItem: (item: unknown) => void, signal: AbortSignal): Promise<unknown> {
    return readListItems(this.#boundedBody(request, signal), describe(request), onItem)
  }

  /** Returns the body as it arrives. Only connecting has a time limit; the caller limits the rest. */
  async stream(request: KubeRequest, signal: AbortSignal): Promise<AnswerBody> {
    const doing = describe(request)
    await this.#bucket.take(signal)
    try {
      const endpoint = await this.#access.resolve()
      let response = await this.#send(request, endpoint, signal)
      if (response.status === 401) {
        this.#access.reject(endpoint)
        const fresh = await this.#access.resolve()
        if (isSameIdentity(endpoint, fresh)) throw await this.#refusal(doing, response, signal)
        response.body.destroy()
        response = await this.#send(request, fresh, signal)
      }
      if (response.status < 200 || response.status > 299) throw await this.#refusal(doing, response, signal)
      return new AnswerBody(response, (error) => toKubeError(error, doing, signal))
    } catch (error) {
      throw toKubeError(error, doing, signal)
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#connection[Symbol.asyncDispose]()
  }

  /** For a request that should end by itself. */
  async *#boundedBody(request: KubeRequest, signal: AbortSignal): AsyncGenerator<Buffer> {
    const doing = describe(request)
    using total = new Watchdog({
      clock: this.clock,
      limitMs: requestLimitMs,
      message: `${doing}: no complete answer`,
      parent: signal,
    })
    using silence = new Watchdog({
      clock: this.clock,
      limitMs: silenceLimitMs,
      message: `${doing}: the API server sent nothing`,
      parent: total.signal,
    })
    for await (const chunk of await this.stream(request, silence.signal)) {
      silence.feed()
      yield chunk
    }
  }

  async #send(request: KubeRequest, endpoint: KubeEndpoint, signal: AbortSignal): Promise<HttpResponse> {
    const { method = 'GET' } = request
    const startedAt = this.clock.monotonic()
    const finished = (status: number | undefined) => {
      const seconds = (this.clock.monotonic() - startedAt) / 1000
      this.#metrics?.requestFinished({ method, host: endpoint.server.host, status, seconds })
    }
    try {
      const response = await this.#sendUncounted(request, endpoint, signal)
      finished(response.status)
      return response
    } catch (error) {
      if (!signal.aborted) finished(undefined)
      throw error
    }
  }

  async #sendUncounted(request: KubeRequest, endpoint: KubeEndpoint, signal: AbortSignal): Promise<HttpResponse> {
    signal.throwIfAborted()
    const connection = await abortable(this.#connection.to(endpoint), signal)
    const { method = 'GET', path, query = {}, body, contentType = 'application/json' } = request
    return connection.send(
      {
        method,
        path: endpoint.server.pathname.replace(/\/$/, '') + path + renderQuery(query),
        headers: {
          accept: 'application/json',
          'user-agent': this.#userAgent,
          ...(body === undefined ? {} : { 'content-type': contentType }),
          ...endpoint.headers,
        },
        body: body === undefined ? undefined : JSON.stringify(body),
      },
      signal,
    )
  }

  async #refusal(doing: string, response: HttpResponse, signal: AbortSignal): Promise<KubeError> {
    using patience = new Watchdog({
      clock: this.clock,
      limitMs: silenceLimitMs,
      message: `${doing}: the API server refused and did not say why`,
      parent: signal,
    })
    patience.signal.addEventListener('abort', () => response.body.destroy(), { once: true })
    const body = await readText(response)
    patience.signal.throwIfAborted()
    const retryAfter = response.headers['retry-after']
    return errorFromResponse({
      doing,
      httpStatus: response.status,
      retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
      body,
      nowMs: this.clock.now(),
    })
  }
}

function describe({ method = 'GET', path, query }: KubeRequest): string {
  return query?.['watch'] === true ? `watch ${path}` : `${method} ${path}`
}

function renderQuery(query: NonNullable<KubeRequest['query']>): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value))
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}

function isSameIdentity(a: KubeEndpoint, b: KubeEndpoint): boolean {
  return JSON.stringify([a.headers, a.tls]) === JSON.stringify([b.headers, b.tls])
}

/** An explanation is short; an answer longer than this is not from an API server. */
const longestRefusalBytes = 1024 * 1024

/** What the server said, as far as it arrived. */
async function readText({ body }: HttpResponse): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > longestRefusalBytes) break
    }
  } catch {
    // Half an explanation is enough: the status is known.
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parseJson(bytes: Buffer, doing: string): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    throw new KubeError('protocol', `${doing}: the answer is not complete JSON (${bytes.length} bytes)`, {
      cause: error,
    })
  }
}

function toKubeError(error: unknown, doing: string, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  return error instanceof KubeError ? error : networkError(error, doing)
}
