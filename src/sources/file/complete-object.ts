/** What an API server would have done to an object before anybody watched it. */
import { defaultObject } from '../../api/defaulting/default-object.ts'
import { isJsonObject } from '../../api/json-reader.ts'
import type { JsonObject } from '../../api/json-reader.ts'
import type { ObjectKind } from '../../api/records.ts'
import { objectKinds } from '../../api/records.ts'
import { familyOf, parseIp } from '../../net/ip.ts'

/** Labels whose mere presence hides an object from a service proxy: an API server would not send it. */
const hidingLabel: Partial<Record<ObjectKind, string>> = {
  Service: 'service.kubernetes.io/service-proxy-name',
  EndpointSlice: 'service.kubernetes.io/headless',
}

/** The kind, when it is one that Fairlead reads. */
export function proxiedKind(object: JsonObject): ObjectKind | undefined {
  return objectKinds.find((kind) => kind === object['kind'])
}

export function isHidden(kind: ObjectKind, object: JsonObject): boolean {
  const label = hidingLabel[kind]
  const metadata = object['metadata']
  if (label === undefined || !isJsonObject(metadata) || !isJsonObject(metadata['labels'])) return false
  return label in metadata['labels']
}

export function completeObject(kind: ObjectKind, object: JsonObject): JsonObject {
  const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {}
  const isNamespaced = kind === 'Service' || kind === 'EndpointSlice'
  const placed = isNamespaced ? { ...object, metadata: { namespace: 'default', ...metadata } } : object
  const defaulted = defaultObject(placed)
  return kind === 'Service' ? withClusterIPs(defaulted) : defaulted
}

/** What allocation would write down: all cluster IPs as a list, and their families. */
function withClusterIPs(service: JsonObject): JsonObject {
  const spec = service['spec']
  if (!isJsonObject(spec) || typeof spec['clusterIP'] !== 'string') return service
  const clusterIPs: readonly unknown[] = Array.isArray(spec['clusterIPs']) ? spec['clusterIPs'] : [spec['clusterIP']]
  const ips = clusterIPs.map((ip) => (typeof ip === 'string' ? parseIp(ip) : undefined))
  if (!ips.every((ip) => ip !== undefined)) return service // headless, or wrong: the parser says so
  const ipFamilies = spec['ipFamilies'] ?? ips.map((ip) => (familyOf(ip) === 'ipv4' ? 'IPv4' : 'IPv6'))
  return { ...service, spec: { ...spec, clusterIPs, ipFamilies } }
}
