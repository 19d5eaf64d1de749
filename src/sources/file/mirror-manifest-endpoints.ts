/** Makes EndpointSlices of Endpoints in manifests, as the mirroring controller of a cluster does. */
import { createHash } from 'node:crypto'
import { isJsonObject } from '../../api/json-reader.ts'
import type { JsonObject } from '../../api/json-reader.ts'
import {
  managedByLabel,
  mirrorEndpoints,
  mirroringController,
  serviceNameLabel,
  whyNotMirrored,
} from '../../api/mirroring/mirror-endpoints.ts'
import type { PlacedObject } from './desired-objects.ts'
import type { Notice } from './notice.ts'

interface EndpointObjects {
  readonly Service: readonly PlacedObject[]
  readonly Endpoints: readonly PlacedObject[]
  readonly EndpointSlice: readonly PlacedObject[]
}

/** All slices: those of the manifests and those made of Endpoints. */
export function mirrorManifestEndpoints(found: EndpointObjects, notices: Notice[]): readonly JsonObject[] {
  const servicesByKey = new Map(found.Service.map(({ key, object }) => [key, object]))
  const serviceKeysWithSlices = new Set(found.EndpointSlice.map(({ object }) => serviceOf(object).key))
  const mirroredKeys = new Set<string>()
  const made: JsonObject[] = []
  for (const { key, object, place } of found.Endpoints) {
    const say = (level: Notice['level'], message: string, fields = {}) =>
      notices.push({ level, message, fields: { endpoints: key, place, ...fields } })
    switch (whyNotMirrored(object, servicesByKey.get(key))) {
      case undefined: {
        mirroredKeys.add(key)
        const { slices, problems } = mirrorEndpoints(object)
        for (const reason of problems) say('warn', 'part of an Endpoints object is ignored', { reason })
        for (const slice of slices) made.push(named(slice.slice, slice.key))
        break
      }
      case 'no Service':
        say('warn', 'Endpoints are not used: there is no Service of this name')
        break
      case 'selector':
        // A dump of a cluster has both, so nothing is missing.
        if (!serviceKeysWithSlices.has(key))
          say('warn', 'Endpoints are not used: their Service has a selector; remove it, or write EndpointSlices')
        break
      case 'skip label':
      case 'leader election':
        break // left out on purpose
      default:
    }
  }
  // A dump of a cluster also holds the slices that were mirrored there.
  const others = found.EndpointSlice.filter(({ object }) => {
    const { key, isMirrored } = serviceOf(object)
    return !(isMirrored && mirroredKeys.has(key))
  })
  return [...others.map(({ object }) => object), ...made]
}

function serviceOf({ metadata }: JsonObject): { readonly key: string; readonly isMirrored: boolean } {
  const { namespace, labels } = isJsonObject(metadata) ? metadata : {}
  const known = isJsonObject(labels) ? labels : {}
  return {
    key: `${String(namespace)}/${String(known[serviceNameLabel])}`,
    isMirrored: known[managedByLabel] === mirroringController,
  }
}

/** The same name for the same ports and address type, so that a change of addresses is a change of one slice. */
function named(slice: JsonObject, key: string): JsonObject {
  const { generateName, ...metadata } = slice['metadata'] as JsonObject
  const hash = createHash('sha256').update(key).digest('hex').slice(0, 8)
  return { ...slice, metadata: { ...metadata, name: `${String(generateName).slice(0, 230)}mirrored-${hash}` } }
}
