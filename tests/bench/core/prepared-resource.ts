/** Everything the benchmark's API server will be asked for, as bytes. */
import type { JsonObject } from '../../../src/api/json-reader.ts'
import { nodeObject, serviceCidrObject, serviceObject, sliceObject } from './cluster-objects.ts'
import { specialAnnotations } from '../spreading/special-services.ts'
import { httpChunk, watchEvent } from './watch-bytes.ts'

interface PreparedResource {
  /** The body of a streaming list, cut into HTTP chunks. */
  readonly initialEvents: Buffer
  /** The body of a LIST. */
  readonly whole: Buffer
  /** The same in pages of 500; the continue token is the number of the page. */
  readonly pages: readonly Buffer[]
}

const pageSize = 500

/** By path. */
export function preparedResources(
  services: number,
  hasSpecialServices: boolean,
): ReadonlyMap<string, PreparedResource> {
  const version = services + 1
  const each = (make: (index: number, version: number) => JsonObject) =>
    Array.from({ length: services }, (_, index) => make(index, index + 1))
  return new Map([
    [
      '/api/v1/services',
      prepare('v1', 'Service', each(hasSpecialServices ? specialServiceObject : serviceObject), version),
    ],
    [
      '/apis/discovery.k8s.io/v1/endpointslices',
      prepare('discovery.k8s.io/v1', 'EndpointSlice', each(sliceObject), version),
    ],
    ['/api/v1/nodes', prepare('v1', 'Node', [nodeObject(1)], version)],
    [
      '/apis/networking.k8s.io/v1/servicecidrs',
      prepare('networking.k8s.io/v1', 'ServiceCIDR', [serviceCidrObject(1)], version),
    ],
  ])
}

function specialServiceObject(index: number, version: number): JsonObject {
  const { metadata, ...service } = serviceObject(index, version)
  const { annotations, ...others } = metadata as { readonly annotations: object }
  return { ...service, metadata: { ...others, annotations: { ...annotations, ...specialAnnotations(index) } } }
}

function prepare(apiVersion: string, kind: string, objects: readonly JsonObject[], version: number): PreparedResource {
  const end = {
    kind,
    apiVersion,
    metadata: { resourceVersion: String(version), annotations: { 'k8s.io/initial-events-end': 'true' } },
  }
  const list = (items: readonly JsonObject[], page: number, isLast: boolean) =>
    Buffer.from(
      JSON.stringify({
        kind: `${kind}List`,
        apiVersion,
        metadata: { resourceVersion: String(version), ...(isLast ? {} : { continue: String(page + 1) }) },
        // In a list the items do not repeat what they are.
        items: items.map(({ kind: _kind, apiVersion: _apiVersion, ...item }) => item),
      }),
    )
  const pages = Math.max(1, Math.ceil(objects.length / pageSize))
  return {
    initialEvents: Buffer.concat(
      [...objects.map((object) => watchEvent('ADDED', object)), watchEvent('BOOKMARK', end)].map(httpChunk),
    ),
    whole: list(objects, 0, true),
    pages: Array.from({ length: pages }, (_, page) =>
      list(objects.slice(page * pageSize, (page + 1) * pageSize), page, page === pages - 1),
    ),
  }
}
