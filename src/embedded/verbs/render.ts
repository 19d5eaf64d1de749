/** Renders objects and lists in the form that the client asked for. */
import type { Page } from './list.ts'
import type { Kind } from './kinds.ts'
import type { ResourceRequest } from './resource-request.ts'
import { negotiate } from '../http/accept.ts'
import type { Reply } from '../http/reply.ts'
import type { ApiObject } from '../resource.ts'
import { badRequest } from '../status.ts'
import type { Entry } from '../store/entry.ts'
import { metadataOnly, renderTable } from './tables.ts'
import type { IncludeObject } from './tables.ts'

export function renderOne(request: ResourceRequest, entry: Entry, status: number): Reply {
  const { kind, context } = request
  const { representation, mediaType } = negotiate(request.request.headers.accept)
  const { object, json } = kind.present(entry)
  switch (representation.as) {
    case 'object':
      return { status, mediaType, body: json }
    case 'metadata':
      return { status, mediaType, body: metadataOnly(object, 'meta.k8s.io/v1') }
    case 'table': {
      const { resourceVersion } = object.metadata
      const style = {
        apiVersion: representation.apiVersion,
        includeObject: includeObjectOf(request.query),
        nowMs: context.now(),
      }
      return { status, mediaType, body: renderTable(kind, [object], { resourceVersion }, style) }
    }
    default:
      return representation satisfies never
  }
}

export function renderPage(request: ResourceRequest, { items, metadata }: Page): Reply {
  const { kind, context } = request
  const { representation, mediaType } = negotiate(request.request.headers.accept)
  const objects = () => items.map(({ object }) => object)
  switch (representation.as) {
    case 'object':
      return { status: 200, mediaType, body: listJson(kind, items, metadata) }
    case 'metadata': {
      const apiVersion = 'meta.k8s.io/v1'
      const partial = objects().map((object) => metadataOnly(object, apiVersion))
      return {
        status: 200,
        mediaType,
        body: { kind: 'PartialObjectMetadataList', apiVersion, metadata, items: partial },
      }
    }
    case 'table': {
      const style = {
        apiVersion: representation.apiVersion,
        includeObject: includeObjectOf(request.query),
        nowMs: context.now(),
      }
      return { status: 200, mediaType, body: renderTable(kind, objects(), metadata, style) }
    }
    default:
      return representation satisfies never
  }
}

export function includeObjectOf(query: URLSearchParams): IncludeObject {
  const text = query.get('includeObject') || 'Metadata'
  if (text === 'None' || text === 'Metadata' || text === 'Object') return text
  throw badRequest(`unrecognized includeObject value: ${JSON.stringify(text)}`)
}

/**
 * Joins the objects' own JSON, so that nothing is serialised twice. As on a real server, items have no kind and
 * apiVersion of their own, so that clients do not come to rely on them.
 */
function listJson({ type }: Kind, items: Page['items'], metadata: Page['metadata']): string {
  const apiVersion = type.group === '' ? type.version : `${type.group}/${type.version}`
  const listHead = JSON.stringify({ kind: `${type.kind}List`, apiVersion, metadata })
  const itemHead = JSON.stringify({ kind: type.kind, apiVersion }).replace(/}$/, ',')
  const bodies = items.map(({ json, object }) =>
    json.startsWith(itemHead) ? `{${json.slice(itemHead.length)}` : withoutKind(object),
  )
  return `${listHead.slice(0, -1)},"items":[${bodies.join(',')}]}`
}

function withoutKind(object: ApiObject): string {
  return JSON.stringify({ ...object, kind: undefined, apiVersion: undefined })
}
