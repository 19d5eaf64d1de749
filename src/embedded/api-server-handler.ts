/** From an HTTP request to its answer. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import { includeObjectOf } from './api-server-render.ts'
import type { ResourceRequest } from './api-server-resource-request.ts'
import { answerResource } from './api-server-verbs.ts'
import type { WriteContext } from './api-server-write.ts'
import type { Kinds } from './api-server-kinds.ts'
import { aggregatedDiscovery } from './discovery-aggregated.ts'
import { coreVersions, groupByName, groupList, resourceList } from './discovery.ts'
import { negotiate } from './http-accept.ts'
import { refuseForeignPages } from './http-guard.ts'
import { isWatch, parseWatchQuery } from './http-query.ts'
import { sendError, sendReply } from './http-reply.ts'
import type { Reply } from './http-reply.ts'
import { JournalError } from './journal-error.ts'
import { openApiV2, openApiV3, openApiV3Index } from './openapi/documents.ts'
import type { ResourceType } from './resource.ts'
import { routeOf } from './router.ts'
import type { ResourceRoute, Route } from './router.ts'
import { ApiError, methodNotAllowed, noSuchResource } from './status.ts'
import type { Store } from './store.ts'
import { metadataEncoder, objectEncoder, tableEncoder } from './watch-encoder.ts'
import type { WatchEncoder } from './watch-encoder.ts'
import { EventLines } from './watch-events.ts'
import { serveWatch } from './watch.ts'

export interface HandlerOptions {
  readonly store: Store
  readonly kinds: Kinds
  readonly context: WriteContext
  readonly clock: Clock
  readonly log: Logger
  readonly bookmarkIntervalMs: number
  readonly hasStreamingLists: boolean
  readonly version: string
  /** Checks where requests come from; off when the server is not on loopback, where any name may be right. */
  readonly refusesForeignPages: boolean
  /** Ends the watches. */
  readonly signal: AbortSignal
  random(): number
}

export function requestHandler(options: HandlerOptions): (request: IncomingMessage, response: ServerResponse) => void {
  const lines = new EventLines()
  return (request, response) => {
    answer(options, lines, request, response).catch((error: unknown) => {
      const apiError = apiErrorOf(error, options.log)
      if (response.headersSent) response.destroy()
      else sendError(response, apiError)
    })
  }
}

async function answer(
  options: HandlerOptions,
  lines: EventLines,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (options.refusesForeignPages) refuseForeignPages(request.headers)
  const [path = '/', ...search] = (request.url ?? '/').split('?')
  const query = new URLSearchParams(search.join('?'))
  const route = routeOf(path)
  if (route.kind !== 'resource') {
    sendReply(response, answerDocument(options, route, request))
    return
  }
  const resourceRequest = resourceRequestOf(options, route, request, query)
  if (request.method === 'GET' && isWatch(query) && route.subresource === undefined)
    await watch(options, lines, resourceRequest, response)
  else sendReply(response, await answerResource(resourceRequest))
}

function resourceRequestOf(
  { kinds, store, context }: HandlerOptions,
  route: ResourceRoute,
  request: IncomingMessage,
  query: URLSearchParams,
): ResourceRequest {
  const kind = kinds.find(route.group, route.version, route.plural)
  if (kind === undefined) throw noSuchResource()
  return { request, route, kind, query, store, context }
}

function answerDocument(
  options: HandlerOptions,
  route: Exclude<Route, ResourceRoute>,
  request: IncomingMessage,
): Reply {
  if (request.method !== 'GET' && request.method !== 'HEAD') throw methodNotAllowed()
  const types = options.kinds.all.map((kind) => kind.type)
  switch (route.kind) {
    case 'health':
      return { status: 200, body: 'ok', mediaType: 'text/plain; charset=utf-8' }
    case 'version':
      return { status: 200, body: versionDocument(options.version) }
    case 'paths':
      return { status: 200, body: { paths: pathsOf(types) } }
    case 'openapi-v2':
      return { status: 200, body: openApiV2() }
    case 'openapi-v3':
      return { status: 200, body: openApiDocument(route.groupVersion) }
    case 'core-versions':
      return (
        discoveryReply(request, types, 'api') ?? { status: 200, body: coreVersions(types, request.headers.host ?? '') }
      )
    case 'groups':
      return discoveryReply(request, types, 'apis') ?? { status: 200, body: groupList(types) }
    case 'group':
      return { status: 200, body: groupByName(types, route.group) }
    case 'resources':
      return { status: 200, body: resourceList(types, route.group, route.version) }
    case 'unknown':
      return { status: 404, body: '404 page not found\n', mediaType: 'text/plain; charset=utf-8' }
    default:
      return route satisfies never
  }
}

function discoveryReply(
  request: IncomingMessage,
  types: readonly ResourceType[],
  root: 'api' | 'apis',
): Reply | undefined {
  const aggregated = aggregatedDiscovery(request.headers.accept, types, root)
  return aggregated && { status: 200, body: aggregated.document, mediaType: aggregated.mediaType }
}

function openApiDocument(groupVersion: string | undefined): object {
  const document = groupVersion === undefined ? openApiV3Index() : openApiV3(groupVersion)
  if (document === undefined) throw noSuchResource()
  return document
}

/** `v1.36.0` in the parts that clients compare. */
function versionDocument(gitVersion: string): object {
  const [major = '', minor = ''] = gitVersion.replace(/^v/, '').split('.')
  return {
    major,
    minor,
    gitVersion,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    platform: '',
  }
}

function pathsOf(types: readonly ResourceType[]): string[] {
  const versions = types.map(({ group, version }) => (group === '' ? `/api/${version}` : `/apis/${group}/${version}`))
  const roots = ['/api', '/apis', '/healthz', '/livez', '/openapi/v2', '/openapi/v3', '/readyz', '/version']
  return [...new Set([...roots, ...versions])].sort()
}

async function watch(
  options: HandlerOptions,
  lines: EventLines,
  request: ResourceRequest,
  response: ServerResponse,
): Promise<void> {
  const { kind, route, query } = request
  const { store, clock, bookmarkIntervalMs } = options
  if (route.name !== undefined) query.append('fieldSelector', selectorWithName(query, route.name))
  const watchQuery = parseWatchQuery(query, kind.type, options.hasStreamingLists)
  const encoder = encoderFor(options, lines, request)
  // A real server picks a time between half an hour and an hour, so that its clients do not come back all at once.
  const defaultTimeoutMs = (1 + options.random()) * 30 * 60 * 1000
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
    log.error('write refused, the data directory cannot take it', { error })
    const isFull = error.reason === 'disk-full'
    return new ApiError(isFull ? 507 : 500, isFull ? 'InsufficientStorage' : 'InternalError', error.message)
  }
  log.error('request failed for a reason of the server', { error })
  return new ApiError(500, 'InternalError', `Internal error occurred: ${(error as Error).message}`)
}
