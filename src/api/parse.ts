/** Turns an API object of unknown shape into a record, or into a list of what is wrong with it. */
import { shownValue } from '../net/shown-value.ts'
import { isJsonObject, JsonReader } from './json-reader.ts'
import type { Identified } from './identified.ts'
import { isObjectName } from './object-name.ts'
import { parseNamespace } from './parse-namespace.ts'
import { parseNode } from './parse-node.ts'
import { parseServiceCidr } from './parse-service-cidr.ts'
import { parseService } from './parse-service.ts'
import { parseSlice } from './parse-slice.ts'
import { objectKey } from './records.ts'
import type { ObjectKind, Parsed, RecordOf } from './records.ts'

const parsers: { readonly [K in ObjectKind]: (object: Identified) => RecordOf<K> | undefined } = {
  Service: parseService,
  EndpointSlice: parseSlice,
  Node: parseNode,
  ServiceCIDR: parseServiceCidr,
  Namespace: parseNamespace,
}

const clusterScoped: ReadonlySet<ObjectKind> = new Set(['Node', 'ServiceCIDR', 'Namespace'])

export function parseObject<K extends ObjectKind>(kind: K, raw: unknown): Parsed<RecordOf<K>> {
  const metadata = isJsonObject(raw) && isJsonObject(raw['metadata']) ? raw['metadata'] : {}
  const { name, namespace, resourceVersion } = metadata
  const isNamed = isObjectName(name)
  const isPlaced = clusterScoped.has(kind) || isObjectName(namespace)
  if (!isJsonObject(raw) || !isNamed || !isPlaced) {
    const key = objectKey({ name: isNamed ? name : shownValue(name) })
    const [field, value] = isNamed ? ['metadata.namespace', namespace] : ['metadata.name', name]
    const reason = `must be a name of letters, digits, "-" and ".", not ${shownValue(value)}`
    return { ok: false, key: undefined, problems: [{ kind, key, field, reason }] }
  }
  const place = String(namespace) // a name by now, unless the kind has none
  const key = objectKey(clusterScoped.has(kind) ? { name } : { namespace: place, name })
  const read = new JsonReader(kind, key)
  const record = parsers[kind]({ raw, metadata, namespace: place, name, read })
  if (record === undefined) return { ok: false, key, problems: read.problems }
  const isVersioned = typeof resourceVersion === 'string' && resourceVersion !== ''
  return { ok: true, record, problems: read.problems, ...(isVersioned && { resourceVersion }) }
}
