/** A real HTTP(S) server whose every answer a test writes itself, faults included. */
import { once } from 'node:events'
import * as http from 'node:http'
import * as http2 from 'node:http2'
import * as https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Readable } from 'node:stream'

export interface FaultServerOptions {
  /** Plain HTTP/1.1, or TLS with HTTP/1.1 only, or TLS with HTTP/2 by ALPN. */
  readonly protocol?: 'http' | 'https' | 'h2'
  readonly tls?: { key: string; cert: string; ca?: string; requestCert?: boolean }
}

export interface ReceivedRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly httpVersion: string
  readonly body: string
  /** Common name of the client's certificate. */
  readonly client: string | undefined
}

export type Answer = (exchange: Exchange) => void | Promise<void>

type Request = http.IncomingMessage | http2.Http2ServerRequest
type Response = http.ServerResponse | http2.Http2ServerResponse

export class Exchange {
  readonly request: ReceivedRequest
  readonly #response: Response
  readonly #raw: Request

  constructor(request: ReceivedRequest, raw: Request, response: Response) {
    this.request = request
    this.#raw = raw
    this.#response = response
  }

  json(status: number, body: unknown, headers: Record<string, string> = {}): void {
    this.#response.writeHead(status, { 'content-type': 'application/json', ...headers })
    this.#response.end(JSON.stringify(body))
  }

  text(status: number, body: string): void {
    this.#response.writeHead(status, { 'content-type': 'text/html' })
    this.#response.end(body)
  }

  status(code: number, reason: string, message = reason, headers: Record<string, string> = {}): void {
    this.json(code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message, code }, headers)
  }

  /** Begins a streamed answer. */
  open(status = 200): this {
    this.#response.writeHead(status, { 'content-type': 'application/json' })
    ;(this.#response as http.ServerResponse).flushHeaders() // the HTTP/2 response has it too, its type does not say so
    return this
  }

  write(bytes: string | Buffer): this {
    const response: { write(chunk: string | Buffer): boolean } = this.#response
    response.write(bytes)
    return this
  }

  event(type: string, object: unknown): this {
    return this.write(JSON.stringify({ type, object }) + '\n')
  }

  end(): void {
    this.#response.end()
  }

  /** Breaks the connection once everything written has been sent. */
  cut(): void {
    setImmediate(() => {
      if ('stream' in this.#response) this.#response.stream.session?.destroy()
      else this.#raw.socket.destroy()
    })
  }

  get isGone(): boolean {
    return this.#response.destroyed || this.#raw.destroyed
  }
}

export class FaultServer implements AsyncDisposable {
  readonly received: ReceivedRequest[] = []
  readonly exchanges: Exchange[] = []
  /** HTTP/2 PINGs received. */
  pings = 0
  readonly #server: http.Server | https.Server | http2.Http2SecureServer
  readonly #scheme: string
  readonly #sockets = new Set<Socket>()
  readonly #sessions: http2.ServerHttp2Session[] = []
  readonly #script: Answer[] = []
  #otherwise: Answer = (exchange) => exchange.status(500, 'InternalError', 'the script of the test is at its end')

  private constructor({ protocol = 'http', tls }: FaultServerOptions) {
    this.#scheme = protocol === 'http' ? 'http' : 'https'
    const onRequest = (request: Request, response: Response) => void this.#handle(request, response)
    const options = { ...tls, rejectUnauthorized: tls?.requestCert === true }
    if (protocol === 'http') this.#server = http.createServer(onRequest)
    else if (protocol === 'https') this.#server = https.createServer(options, onRequest)
    else this.#server = http2.createSecureServer({ ...options, allowHTTP1: true }, onRequest)
    for (const event of ['connection', 'secureConnection'])
      this.#server.on(event, (socket: Socket) => {
        this.#sockets.add(socket)
        socket.on('error', () => {})
        socket.on('close', () => this.#sockets.delete(socket))
      })
    this.#server.on('session', (session: http2.ServerHttp2Session) => {
      this.#sessions.push(session)
      session.on('ping', () => this.pings++)
    })
    this.#server.on('tlsClientError', () => {})
    this.#server.on('sessionError', () => {})
  }

  static async start(options: FaultServerOptions = {}): Promise<FaultServer> {
    const server = new FaultServer(options)
    server.#server.listen(0, '127.0.0.1')
    await once(server.#server, 'listening')
    return server
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.port}`
  }

  get openSockets(): number {
    return this.#sockets.size
  }

  /** HTTP/2 connections so far. */
  get sessions(): number {
    return this.#sessions.length
  }

  /** HTTP/2: no new requests on the existing connections. */
  sayGoodbye(): void {
    for (const session of this.#sessions) session.goaway(0)
  }

  /** The answers to the next requests, in order. */
  script(...answers: Answer[]): this {
    this.#script.push(...answers)
    return this
  }

  /** The answer to requests beyond the script. */
  otherwise(answer: Answer): this {
    this.#otherwise = answer
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => setImmediate(resolve))
  }

  async #handle(raw: Request, response: Response): Promise<void> {
    raw.on('error', () => {})
    response.on('error', () => {})
    const chunks: Buffer[] = []
    for await (const chunk of raw as Readable) chunks.push(chunk as Buffer)
    const socket = raw.socket as { getPeerCertificate?: () => { subject?: { CN?: string } } }
    const request: ReceivedRequest = {
      method: raw.method ?? '',
      url: new URL(raw.url ?? '/', this.url),
      headers: raw.headers,
      httpVersion: raw.httpVersion,
      body: Buffer.concat(chunks).toString('utf8'),
      client: socket.getPeerCertificate?.().subject?.CN,
    }
    const exchange = new Exchange(request, raw, response)
    this.received.push(request)
    this.exchanges.push(exchange)
    await (this.#script.shift() ?? this.#otherwise)(exchange)
  }
}
