/** The border: an API object of unknown shape becomes a record, or a list of what is wrong with it. */
import { isJsonObject, JsonReader } from './json-reader.ts'
import type { Identified } from './identified.ts'
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
}

const clusterScoped: ReadonlySet<ObjectKind> = new Set(['Node', 'ServiceCIDR'])

export function parseObject<K extends ObjectKind>(kind: K, raw: unknown): Parsed<RecordOf<K>> {
  const metadata = isJsonObject(raw) && isJsonObject(raw['metadata']) ? raw['metadata'] : {}
  const { name, namespace, resourceVersion } = metadata
  const isNamed = isObjectName(name)
  const isPlaced = clusterScoped.has(kind) || isObjectName(namespace)
  if (!isJsonObject(raw) || !isNamed || !isPlaced) {
    const key = objectKey({ name: isNamed ? name : shown(name) })
    const [field, value] = isNamed ? ['metadata.namespace', namespace] : ['metadata.name', name]
    const reason = `must be a name of letters, digits, "-" and ".", not ${shown(value)}`
    return { ok: false, key: undefined, problems: [{ kind, key, field, reason }] }
  }
  const key = objectKey(clusterScoped.has(kind) ? { name } : { namespace: String(namespace), name })
  const read = new JsonReader(kind, key)
  const record = parsers[kind]({
    raw,
    metadata,
    namespace: typeof namespace === 'string' ? namespace : '',
    name,
    resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : '',
    read,
  })
  return record === undefined
    ? { ok: false, key, problems: read.problems }
    : { ok: true, record, problems: read.problems }
}

/** Names end up in rules and comments of kernel tools, so nothing else gets past this point. */
function isObjectName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 253 && /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(value)
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value).slice(0, 80)
}
