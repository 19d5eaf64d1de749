import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../core/clock.ts'
import type { Logger } from '../../core/logger.ts'
import { answerDocument } from '../discovery/documents.ts'
import { includeObjectOf } from '../verbs/render.ts'
import type { ResourceRequest } from '../verbs/resource-request.ts'
import { answerResource } from '../verbs/verbs.ts'
import type { WriteContext } from '../verbs/write.ts'
import type { Kind, Kinds } from '../verbs/kinds.ts'
import { negotiate } from './accept.ts'
import { answerAccessReview, isAccessReview } from './access-review.ts'
import { isWatch, parseWatchQuery } from './query.ts'
import { sendError, sendReply } from './reply.ts'
import { JournalError } from '../journal/journal-error.ts'
import { routeOf, type ResourceRoute } from './router.ts'
import { ApiError, noSuchResource, tooManyRequests } from '../status.ts'
import type { Store } from '../store/store.ts'
import { metadataEncoder, objectEncoder, tableEncoder, type WatchEncoder } from '../watch/encoder.ts'
import { EventLines } from '../watch/events.ts'
import { serveWatch } from '../watch/watch.ts'
import { hostnameIn, isLocalName, pageBehind } from '../../http/web-pages.ts'

export interface HandlerOptions {
  readonly store: Store
  readonly kinds: Kinds
  readonly context: WriteContext
  readonly clock: Clock
  readonly log: Logger
  readonly bookmarkIntervalMs: number
  readonly hasStreamingLists: boolean
  readonly version: string
  /** On other addresses any Host header may be right. */
  readonly isOnLoopback: boolean
  /** Watches last long, so they must leave connections for other requests. */
  readonly maxWatches: number
  readonly signal: AbortSignal
  random(): number
}

export function requestHandler(options: HandlerOptions): (request: IncomingMessage, response: ServerResponse) => void {
  const watches: Watches = { lines: new EventLines(), open: 0 }
  return (request, response) => {
    answer(options, watches, request, response).catch((error: unknown) => {
      // The client left in the middle of its body, so no answer is needed.
      if (error === request.errored) return
      const apiError = apiErrorOf(error, options.log)
      if (response.headersSent) response.destroy()
      else sendError(response, apiError)
    })
  }
}

interface Watches {
  readonly lines: EventLines
  open: number
}

async function answer(
  options: HandlerOptions,
  watches: Watches,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  refuseWebPages(request, options)
  const [path = '/', ...search] = (request.url ?? '/').split('?')
  const query = new URLSearchParams(search.join('?'))
  const route = routeOf(path)
  if (route.kind !== 'resource') {
    const types = options.kinds.all.map((kind) => kind.type)
    sendReply(response, answerDocument({ types, version: options.version }, route, request))
    return
  }
  if (isAccessReview(route)) {
    sendReply(response, await answerAccessReview(request))
    return
  }
  const resourceRequest = resourceRequestOf(options, route, request, query)
  if (request.method === 'GET' && isWatch(query) && route.subresource === undefined)
    await watch(options, watches, resourceRequest, response)
  else sendReply(response, await answerResource(resourceRequest))
}

function resourceRequestOf(
  { kinds, store, context }: HandlerOptions,
  route: ResourceRoute,
  request: IncomingMessage,
  query: URLSearchParams,
): ResourceRequest {
  const kind = kinds.find(route.group, route.version, route.plural)
  if (kind === undefined || !fitsScope(route, kind)) throw noSuchResource()
  return { request, route, kind, query, store, context }
}

/** An object of a namespaced kind needs a namespace; other kinds must not have one. */
function fitsScope({ namespace, name }: ResourceRoute, { type }: Kind): boolean {
  return type.isNamespaced ? name === undefined || namespace !== undefined : namespace === undefined
}

async function watch(
  options: HandlerOptions,
  watches: Watches,
  request: ResourceRequest,
  response: ServerResponse,
): Promise<void> {
  const { kind, route, query } = request
  const { store, clock, bookmarkIntervalMs } = options
  if (route.name !== undefined) query.append('fieldSelector', selectorWithName(query, route.name))
  const watchQuery = parseWatchQuery(query, kind.type, options.hasStreamingLists)
  const encoder = encoderFor(options, watches.lines, request)
  // A real server picks a time between half an hour and an hour, so that its clients do not all come back at once.
  const defaultTimeoutMs = (1 + options.random()) * 30 * 60 * 1000
  if (watches.open >= options.maxWatches) throw tooManyRequests()
  watches.open++
  try {
    await serveWatch(
      {
        store,
        kind,
        namespace: route.namespace,
        query: watchQuery,
        encoder,
        clock,
        bookmarkIntervalMs,
        defaultTimeoutMs,
      },
      response,
      options.signal,
    )
  } finally {
    watches.open--
  }
}

/** A watch of one object by its path is a watch of its collection for that name. */
function selectorWithName(query: URLSearchParams, name: string): string {
  const given = query.get('fieldSelector') ?? ''
  query.delete('fieldSelector')
  return given === '' ? `metadata.name=${name}` : `${given},metadata.name=${name}`
}

function encoderFor(
  { clock }: HandlerOptions,
  lines: EventLines,
  { kind, query, request }: ResourceRequest,
): WatchEncoder {
  const { representation } = negotiate(request.headers.accept)
  switch (representation.as) {
    case 'object':
      return objectEncoder(kind, lines)
    case 'metadata':
      return metadataEncoder('meta.k8s.io/v1')
    case 'table': {
      const { apiVersion } = representation
      const includeObject = includeObjectOf(query)
      return tableEncoder(kind, () => ({ apiVersion, includeObject, nowMs: clock.now() }))
    }
    default:
      return representation satisfies never
  }
}

function apiErrorOf(error: unknown, log: Logger): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof JournalError) {
    log.error('a write was refused: the data directory cannot be written', { error })
    const isFull = error.reason === 'disk-full'
    return new ApiError(isFull ? 507 : 500, isFull ? 'InsufficientStorage' : 'InternalError', error.message)
  }
  log.error('a request failed inside the server', { error })
  return new ApiError(500, 'InternalError', `Internal error occurred: ${(error as Error).message}`)
}

/** A server without passwords must not answer web pages, nor do what they ask for. */
function refuseWebPages({ method, headers }: IncomingMessage, { isOnLoopback }: HandlerOptions): void {
  const { host, origin } = headers
  if (isOnLoopback && !isLocalName(hostnameIn(host ?? '') ?? ''))
    throw refusal(`the Host header names "${host ?? ''}"; use localhost or 127.0.0.1`)
  // A page that is being developed on this machine may read. Only programs may write: kubectl sends no Origin.
  const isReading = method === 'GET' || method === 'HEAD'
  if (origin !== undefined && isReading && isLocalName(hostnameIn(origin.replace(/^https?:\/\//, '')) ?? '')) return
  const page = pageBehind(headers)
  if (page !== undefined) throw refusal(page)
}

function refusal(why: string): ApiError {
  return new ApiError(403, 'Forbidden', `forbidden: this server answers programs on this machine only: ${why}`)
}
