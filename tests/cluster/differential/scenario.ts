import type { Json } from '../../../src/embedded/resource.ts'

export interface ScenarioRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With the query. */
  readonly path: string
  readonly body?: Json
  /** JSON unless told otherwise. */
  readonly contentType?: string
  /** JSON unless told otherwise. */
  readonly accept?: string
}

/** Requests that are sent one after the other to a server without other objects; every answer is compared. */
export interface Scenario {
  readonly name: string
  /** Why the embedded server answers otherwise, and may. */
  readonly differs?: string
  readonly steps: readonly ScenarioRequest[]
}

export type JsonObject = { readonly [key: string]: Json }

const namespace = 'demo'

const prefixes = {
  services: `/api/v1/namespaces/${namespace}/services`,
  endpoints: `/api/v1/namespaces/${namespace}/endpoints`,
  endpointslices: `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
  events: `/apis/events.k8s.io/v1/namespaces/${namespace}/events`,
  nodes: '/api/v1/nodes',
  namespaces: '/api/v1/namespaces',
  servicecidrs: '/apis/networking.k8s.io/v1/servicecidrs',
} as const

export type Plural = keyof typeof prefixes

export function path(plural: Plural, rest = ''): string {
  return `${prefixes[plural]}${rest}`
}

export function create(plural: Plural, body: JsonObject, query = ''): ScenarioRequest {
  return { method: 'POST', path: path(plural, query), body }
}

/** `name` may go on with a subresource or a query: `web/status`, `web?dryRun=All`. */
export function get(plural: Plural, name: string): ScenarioRequest {
  return { method: 'GET', path: path(plural, `/${name}`) }
}

export function list(plural: Plural, query: string): ScenarioRequest {
  return { method: 'GET', path: path(plural, `?${query}`) }
}

/** What `kubectl get` asks for. */
export function table(plural: Plural, rest = ''): ScenarioRequest {
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
  return { method: 'GET', path: path(plural, rest), accept }
}

export function replace(plural: Plural, name: string, body: JsonObject): ScenarioRequest {
  return { method: 'PUT', path: path(plural, `/${name}`), body }
}

export function remove(plural: Plural, name: string, options?: JsonObject): ScenarioRequest {
  return { method: 'DELETE', path: path(plural, `/${name}`), ...(options === undefined ? {} : { body: options }) }
}

const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const

export function patch(kind: keyof typeof patchTypes, plural: Plural, name: string, body: Json): ScenarioRequest {
  return { method: 'PATCH', path: path(plural, `/${name}`), contentType: patchTypes[kind], body }
}

/** A Service called web. */
export function service(spec: JsonObject, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', ...metadata }, spec }
}

/** An EndpointSlice called web-1, of the Service web. */
export function endpointSlice(fields: JsonObject, metadata: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' }, ...metadata },
    ...fields,
  }
}
