/** A plain client for tests of API servers. It reads whole answers and follows watches line by line. */
import { assert } from 'vitest'

interface ApiRequest {
  readonly method: string
  /** With the query, e.g. `/api/v1/services?watch=true`. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly signal: AbortSignal | undefined
}

export interface ApiResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: AsyncIterable<Uint8Array>
}

/** How to reach a server, with TLS and credentials if it needs them. */
export type SendRequest = (request: ApiRequest) => Promise<ApiResponse>

/** Requests over plain HTTP. */
export function fetchRequests(url: string): SendRequest {
  return async ({ method, path, headers, body, signal }) => {
    const response = await fetch(url + path, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    })
    return { status: response.status, headers: Object.fromEntries(response.headers), body: bodyOf(response) }
  }
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly json: JsonObject
}

// Tests look deep into answers of many shapes; naming each shape would hide what they check.
// oxlint-disable-next-line typescript/no-explicit-any
export type JsonObject = Record<string, any>

export interface WatchLine {
  readonly type: string
  readonly object: JsonObject
}

export class ApiClient {
  readonly #send: SendRequest

  constructor(send: SendRequest) {
    this.#send = send
  }

  async request(
    method: string,
    path: string,
    options: { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Answer> {
    const { body } = options
    const response = await this.#send({
      method,
      path,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
      signal: undefined,
    })
    const chunks: Uint8Array[] = []
    for await (const chunk of response.body) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const isJson = (response.headers['content-type'] ?? '').startsWith('application/json')
    return { ...response, text, json: isJson ? (JSON.parse(text) as JsonObject) : {} }
  }

  /** The object of an answer that must have this status. */
  async expect(status: number, method: string, path: string, body?: unknown): Promise<JsonObject> {
    const answer = await this.request(method, path, body === undefined ? {} : { body })
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
    return answer.json
  }

  patch(path: string, mediaType: string, body: unknown): Promise<Answer> {
    return this.request('PATCH', path, { body, headers: { 'content-type': mediaType } })
  }

  async watch(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Watching> {
    const controller = new AbortController()
    const response = await this.#send({
      method: 'GET',
      path,
      headers: { accept: 'application/json', ...headers },
      body: undefined,
      signal: controller.signal,
    })
    return new Watching(response, controller)
  }
}

/** A running watch; disposing of it closes the connection. */
export class Watching implements AsyncDisposable {
  readonly status: number
  readonly #lines: AsyncGenerator<string>
  readonly #controller: AbortController

  constructor(response: ApiResponse, controller: AbortController) {
    this.status = response.status
    this.#lines = linesOf(response.body)
    this.#controller = controller
  }

  /** Returns nothing once the server has ended the watch. */
  async next(): Promise<WatchLine | undefined> {
    const { value, done } = await this.#lines.next()
    return done === true ? undefined : (JSON.parse(value) as WatchLine)
  }

  async take(count: number): Promise<WatchLine[]> {
    const events: WatchLine[] = []
    while (events.length < count) {
      const event = await this.next()
      assert(event !== undefined, `the watch ended after ${events.length} of ${count} events`)
      events.push(event)
    }
    return events
  }

  /** All events up to and including the first that fits. */
  async until(fits: (event: WatchLine) => boolean): Promise<WatchLine[]> {
    const events: WatchLine[] = []
    for (;;) {
      const event = await this.next()
      assert(event !== undefined, `the watch ended; it had told ${JSON.stringify(events.map(({ type }) => type))}`)
      events.push(event)
      if (fits(event)) return events
    }
  }

  async rest(): Promise<WatchLine[]> {
    const events: WatchLine[] = []
    for (let event = await this.next(); event !== undefined; event = await this.next()) events.push(event)
    return events
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#controller.abort()
    // Reading an aborted body rejects, which is expected here.
    await this.#lines.return(undefined).catch(() => undefined)
  }
}

async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines.filter((line) => line !== '')
  }
}

async function* bodyOf(response: Response): AsyncIterable<Uint8Array> {
  if (response.body === null) return
  const reader = response.body.getReader()
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      yield value as Uint8Array
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
