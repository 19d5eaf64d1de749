/** A request for a resource, with everything needed to answer it. */
import type { IncomingMessage } from 'node:http'
import type { Kind } from './kinds.ts'
import type { WriteContext } from './write.ts'
import { trackUpdate } from '../patch/track-update.ts'
import type { ApiObject } from '../resource.ts'
import type { ResourceRoute } from '../http/router.ts'
import type { Store } from '../store/store.ts'

export interface ResourceRequest {
  readonly request: IncomingMessage
  readonly route: ResourceRoute
  readonly kind: Kind
  readonly query: URLSearchParams
  readonly store: Store
  readonly context: WriteContext
}

/** Who writes, for server-side apply: from the query, or else from the User-Agent. */
export function fieldManagerOf({ query, request }: ResourceRequest): string {
  const agent = request.headers['user-agent'] ?? 'unknown'
  return query.get('fieldManager') || (agent.split('/', 1)[0] ?? agent)
}

/** Records who owns the fields that are written. */
export function tracker(request: ResourceRequest): (next: ApiObject, old?: ApiObject) => ApiObject {
  const { kind, route, context } = request
  const subresource = route.subresource === 'status' ? ({ subresource: 'status' } as const) : {}
  return (next: ApiObject, old?: ApiObject) =>
    trackUpdate({
      old,
      next,
      resource: kind.type,
      fieldManager: fieldManagerOf(request),
      ...subresource,
      nowMs: context.now(),
    })
}
