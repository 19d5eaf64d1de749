/** From an HTTP request to its answer. */
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
import { refuseWebPages } from './guard.ts'
import { isWatch, parseWatchQuery } from './query.ts'
import { sendError, sendReply } from './reply.ts'
import { JournalError } from '../journal/journal-error.ts'
import { routeOf } from './router.ts'
import type { ResourceRoute } from './router.ts'
import { ApiError, noSuchResource, tooManyRequests } from '../status.ts'
import type { Store } from '../store/store.ts'
import { metadataEncoder, objectEncoder, tableEncoder } from '../watch/encoder.ts'
import type { WatchEncoder } from '../watch/encoder.ts'
import { EventLines } from '../watch/events.ts'
import { serveWatch } from '../watch/watch.ts'

export interface HandlerOptions {
  readonly store: Store
  readonly kinds: Kinds
  readonly context: WriteContext
  readonly clock: Clock
  readonly log: Logger
  readonly bookmarkIntervalMs: number
  readonly hasStreamingLists: boolean
  readonly version: string
  readonly isOnLoopback: boolean
  /** So that watches, which last, leave connections to the others. */
  readonly maxWatches: number
  /** Ends the watches. */
  readonly signal: AbortSignal
  random(): number
}

export function requestHandler(options: HandlerOptions): (request: IncomingMessage, response: ServerResponse) => void {
  const watches: Watches = { lines: new EventLines(), open: 0 }
  return (request, response) => {
    answer(options, watches, request, response).catch((error: unknown) => {
      // The client left in the middle of its body: nobody waits for an answer.
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

/** One object of a namespaced kind needs its namespace, and others have none. */
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
  // A real server picks a time between half an hour and an hour, so that its clients do not come back all at once.
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

/** Watching one object by its path is watching its collection for that name. */
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
