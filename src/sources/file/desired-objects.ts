/** Turns manifests into what an API server would send to a proxy, with notices for their authors. */
import { isJsonObject } from '../../api/json-reader.ts'
import type { JsonObject } from '../../api/json-reader.ts'
import type { ObjectKind } from '../../api/records.ts'
import { assignClusterIPs } from './assign-cluster-ips.ts'
import { completeObject, isHidden, withClusterIPs } from './complete-object.ts'
import type { ManifestObject } from './manifest.ts'
import { mirrorManifestEndpoints } from './mirror-manifest-endpoints.ts'
import type { Notice } from './notice.ts'
import { keyOfObject } from './object-key.ts'
import { kindOfObject } from './object-kind.ts'
import type { ManifestKind } from './object-kind.ts'
import { serviceNotices } from './service-notices.ts'

export interface DesiredObjects {
  readonly byKind: Readonly<Record<ObjectKind, readonly JsonObject[]>>
  readonly notices: readonly Notice[]
}

/** An object with the defaults of an API server, and where it came from. */
export interface PlacedObject {
  /** `namespace/name`, or `name`. */
  readonly key: string
  readonly object: JsonObject
  readonly place: string
}

export function desiredObjects(manifest: readonly ManifestObject[]): DesiredObjects {
  const notices: Notice[] = []
  const found = groupByKind(manifest, notices)
  const { services, assigned } = assignClusterIPs(
    found.Service.map(({ object }) => object),
    found.ServiceCIDR.map(({ object }) => object),
  )
  const placed = found.Service.map((service, index) => ({
    ...service,
    object: withClusterIPs(services[index] ?? service.object),
  }))
  for (const service of placed) notices.push(...serviceNotices(service, assigned.get(service.key)))
  const slices = mirrorManifestEndpoints({ ...found, Service: placed }, notices)
  return {
    byKind: {
      Service: placed.map(({ object }) => object),
      EndpointSlice: slices,
      Node: found.Node.map(({ object }) => object),
      ServiceCIDR: found.ServiceCIDR.map(({ object }) => object),
      Namespace: found.Namespace.map(({ object }) => object),
    },
    notices,
  }
}

type Found = Readonly<Record<ManifestKind, readonly PlacedObject[]>>

function groupByKind(manifest: readonly ManifestObject[], notices: Notice[]): Found {
  const byKind = Object.fromEntries(
    (['Service', 'EndpointSlice', 'Endpoints', 'Node', 'ServiceCIDR', 'Namespace'] as const).map((kind) => [
      kind,
      new Map(),
    ]),
  ) as Record<ManifestKind, Map<string, PlacedObject>>
  for (const { object, place, unknownFields } of manifest) {
    const found = kindOfObject(object)
    if (found.is === 'other')
      notices.push(
        info('objects of this kind are ignored, because a service proxy does not use them', { kind: found.kind }),
      )
    else if (found.is === 'mistake') notices.push(warn('object is ignored', { place, reason: found.reason }))
    else if (!isHidden(found.kind, object)) {
      const completed = completeObject(found.kind, object)
      const key = keyOfObject(completed)
      for (const unknown of unknownFields) notices.push(unknownFieldNotice(`${found.kind} ${key}`, unknown))
      // Objects without a name are told apart by their place; the parser refuses them.
      const id = hasName(completed) ? key : place
      if (byKind[found.kind].delete(id))
        notices.push(
          warn('object is in the manifests more than once; the last one is used', {
            object: `${found.kind} ${key}`,
            place,
          }),
        )
      byKind[found.kind].set(id, { key, object: completed, place })
    }
  }
  return Object.fromEntries(
    Object.entries(byKind).map(([kind, objects]) => [kind, [...objects.values()]]),
  ) as unknown as Found
}

function unknownFieldNotice(
  object: string,
  { place, field, nearest }: ManifestObject['unknownFields'][number],
): Notice {
  const hint = nearest === undefined ? {} : { didYouMean: nearest }
  return warn('unknown field in a manifest has no effect', { object, place, field, ...hint })
}

function warn(message: string, fields: Notice['fields']): Notice {
  return { level: 'warn', message, fields }
}

function info(message: string, fields: Notice['fields']): Notice {
  return { level: 'info', message, fields }
}

function hasName({ metadata }: JsonObject): boolean {
  return isJsonObject(metadata) && metadata['name'] !== undefined
}
