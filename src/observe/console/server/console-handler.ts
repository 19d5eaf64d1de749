/** Everything that the console answers. It reads only: the token, and the buttons of the demo, are all that is ever sent to it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/logger.ts'
import { debugHandler } from '../../http/debug/debug-handler.ts'
import type { DebugLimits } from '../../http/debug/debug-handler.ts'
import type { DebugPage } from '../../http/debug/debug-page.ts'
import { plainText, reply, requestTarget } from '../../http/reply.ts'
import type { HttpHandler } from '../../http/reply.ts'
import { paths } from '../wire.ts'
import type { ConsoleAccess } from './console-access.ts'
import type { Access } from './console-access.ts'
import { ConsoleFiles } from './console-files.ts'
import type { ReadConsoleFiles } from './console-files.ts'
import { consoleHeaders } from './console-headers.ts'
import type { LiveStreams } from './live-streams.ts'
import { maxStreams } from './live-streams.ts'
import { sentJson } from './sent-json.ts'
import { isOnThisMachine, whyNotAnswered } from './who-asks.ts'
import type { ConsolePlace } from './who-asks.ts'

export interface ConsoleHandlerOptions {
  readonly place: ConsolePlace
  readonly access: ConsoleAccess
  readonly streams: LiveStreams
  readonly files: ReadConsoleFiles
  readonly pages: readonly DebugPage[]
  /** The demo's buttons. */
  readonly demo?: DemoActions | undefined
  readonly clock: Clock
  readonly log: Logger
}

export interface DemoActions {
  /** Returns what is wrong with it, as a sentence; it has come from a browser. */
  act(action: unknown): Promise<string | undefined>
}

/** A page that somebody clicks through asks much at once, and must not be told to wait. */
const limitsInConsole: DebugLimits = {
  rate: { burst: 200, perSecond: 50 },
  work: { burst: 5000, perSecond: 300 },
  perPage: 16,
  timeMs: 20_000,
  size: 16 * 1024 * 1024,
}

export function consoleHandler(options: ConsoleHandlerOptions): HttpHandler {
  const { place, log, clock, pages } = options
  const files = new ConsoleFiles(options.files)
  const debug = debugHandler({ pages, limits: limitsInConsole, clock, log })

  return async (request, response) => {
    for (const [name, value] of Object.entries(consoleHeaders)) response.setHeader(name, value)
    const refusal = whyNotAnswered(request, place)
    if (refusal !== undefined) {
      log.debug(2, 'a request is refused', { server: 'the console', url: request.url, why: refusal })
      return say(response, 403, `forbidden: ${refusal}`)
    }
    const { path, query } = requestTarget(request)
    if (request.method === 'POST') return takePost(path, request, response, options)
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return say(response, 405, 'the console only answers GET: it changes nothing', { Allow: 'GET, HEAD' })
    if (path.startsWith('/assets/')) return files.asset(path.slice(1), request, response)
    if (isPage(path)) return files.page(request, response)
    const access = options.access.of(request)
    if (access.kind !== 'allowed') return sendAway(response, access)
    if (path.startsWith(paths.debug)) return debug(request, response)
    if (path === paths.login) return void response.writeHead(204).end()
    if (path === paths.live) return openStream(query, request, response, options)
    say(response, 404, `there is no ${path}`)
  }
}

/** What has a dot in its first part is a file that is not there, such as /favicon.ico. */
function isPage(path: string): boolean {
  const [first = ''] = path.slice(1).split('/')
  return path.startsWith('/') && !['api', 'debug'].includes(first) && !first.includes('.')
}

function openStream(
  query: URLSearchParams,
  request: IncomingMessage,
  response: ServerResponse,
  { streams, access }: ConsoleHandlerOptions,
): void {
  if (request.method === 'HEAD') return void response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end()
  if (streams.isFull)
    return say(response, 503, `${maxStreams} pages follow this server, which is all it allows: close some`, {
      'Retry-After': '5',
    })
  streams.open(response, { topics: query.getAll('topic'), mayStay: () => access.of(request).kind === 'allowed' })
}

async function takePost(
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  { access, place, demo }: ConsoleHandlerOptions,
): Promise<void> {
  if (path !== paths.login && (path !== paths.demo || demo === undefined))
    return say(response, 405, 'the console takes nothing here: it changes nothing', { Allow: 'GET, HEAD' })
  const sent = await sentJson(request)
  if (sent.kind === 'refused') return say(response, sent.status, sent.message, { Connection: 'close' })
  if (path === paths.login) {
    const { token } = sent.value as { readonly token?: unknown }
    const granted = access.withToken(typeof token === 'string' ? token.trim() : '', request)
    if (granted.kind !== 'allowed') return sendAway(response, granted)
    const cookie = access.cookie(!isOnThisMachine(request, place))
    if (cookie !== undefined) response.setHeader('Set-Cookie', cookie)
    return void response.writeHead(204).end()
  }
  const granted = access.of(request)
  if (granted.kind !== 'allowed') return sendAway(response, granted)
  const problem = await demo?.act(sent.value)
  if (problem === undefined) response.writeHead(204).end()
  else say(response, 400, problem)
}

function sendAway(response: ServerResponse, access: Exclude<Access, { readonly kind: 'allowed' }>): void {
  if (access.kind === 'unknown')
    return say(response, 401, 'this needs the token of --console-token-file', { 'WWW-Authenticate': 'Bearer' })
  const seconds = Math.ceil(access.ms / 1000)
  say(response, 429, `too many wrong tokens: try again in ${seconds} s`, { 'Retry-After': String(seconds) })
}

function say(response: ServerResponse, status: number, message: string, headers = {}): void {
  reply(response, status, { 'Content-Type': plainText, ...headers }, `${message}\n`)
}
