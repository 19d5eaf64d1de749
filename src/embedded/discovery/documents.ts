/** What the server says about itself: health, version, discovery, OpenAPI. */
import type { IncomingMessage } from 'node:http'
import { aggregatedDiscovery } from './aggregated.ts'
import { asksForProtobuf, encodeOpenApiV2, openApiProtobufType } from './openapi-protobuf.ts'
import { coreVersions, groupByName, groupList, resourceList } from './discovery.ts'
import { parseAccept } from '../http/accept.ts'
import type { Reply } from '../http/reply.ts'
import { openApiV2, openApiV3, openApiV3Index } from '../openapi/documents.ts'
import type { ResourceType } from '../resource.ts'
import type { ResourceRoute, Route } from '../http/router.ts'
import { methodNotAllowed, noSuchResource } from '../status.ts'

export interface DocumentOptions {
  readonly types: readonly ResourceType[]
  /** `v1.36.0` */
  readonly version: string
}

export function answerDocument(
  options: DocumentOptions,
  route: Exclude<Route, ResourceRoute>,
  request: IncomingMessage,
): Reply {
  if (request.method !== 'GET' && request.method !== 'HEAD') throw methodNotAllowed()
  const { types } = options
  switch (route.kind) {
    case 'health':
      return { status: 200, body: 'ok', mediaType: 'text/plain; charset=utf-8' }
    case 'version':
      return { status: 200, body: versionDocument(options.version) }
    case 'paths':
      return { status: 200, body: { paths: pathsOf(types) } }
    case 'openapi-v2':
      return openApiV2Reply(request)
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

function openApiV2Reply({ headers }: IncomingMessage): Reply {
  if (!asksForProtobuf(parseAccept(headers.accept)[0]?.type)) return { status: 200, body: openApiV2() }
  return { status: 200, body: encodeOpenApiV2(openApiV2()), mediaType: openApiProtobufType }
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
