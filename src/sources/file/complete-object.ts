/** What an API server would have done to an object before sending it. */
import { isAbsent } from '../../api/defaulting/absent.ts'
import { defaultObject } from '../../api/defaulting/default-object.ts'
import { isJsonObject } from '../../api/json-reader.ts'
import type { JsonObject } from '../../api/json-reader.ts'
import { familyOf, parseIp } from '../../net/ip.ts'
import type { ManifestKind } from './object-kind.ts'

/** Labels whose mere presence hides an object from a service proxy: an API server would not send it. */
const hidingLabel: Partial<Record<ManifestKind, string>> = {
  Service: 'service.kubernetes.io/service-proxy-name',
  EndpointSlice: 'service.kubernetes.io/headless',
}

export function isHidden(kind: ManifestKind, object: JsonObject): boolean {
  const label = hidingLabel[kind]
  const metadata = object['metadata']
  if (label === undefined || !isJsonObject(metadata) || !isJsonObject(metadata['labels'])) return false
  return label in metadata['labels']
}

const clusterScoped: ReadonlySet<ManifestKind> = new Set(['Node', 'ServiceCIDR', 'Namespace'])

/** Cluster IPs are allocated in assign-cluster-ips.ts. */
export function completeObject(kind: ManifestKind, object: JsonObject): JsonObject {
  const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {}
  const isNamespaced = !clusterScoped.has(kind)
  const placed = isNamespaced ? { ...object, metadata: { namespace: 'default', ...metadata } } : object
  const current = kind === 'EndpointSlice' ? fromOlderSlice(placed) : placed
  return defaultObject(current)
}

/** All cluster IPs as a list, and their families, as allocation would write them. */
export function withClusterIPs(service: JsonObject): JsonObject {
  const spec = service['spec']
  if (!isJsonObject(spec)) return service
  const listed: readonly unknown[] = Array.isArray(spec['clusterIPs']) ? spec['clusterIPs'] : []
  const clusterIP = isAbsent(spec['clusterIP']) ? listed[0] : spec['clusterIP']
  if (typeof clusterIP !== 'string') return service
  const clusterIPs = listed.length > 0 ? listed : [clusterIP]
  const ips = clusterIPs.map((ip) => (typeof ip === 'string' ? parseIp(ip) : undefined))
  // A headless Service, or a wrong address, which the parser reports.
  if (!ips.every((ip) => ip !== undefined)) return { ...service, spec: { ...spec, clusterIP } }
  const ipFamilies = spec['ipFamilies'] ?? ips.map((ip) => (familyOf(ip) === 'ipv4' ? 'IPv4' : 'IPv6'))
  return { ...service, spec: { ...spec, clusterIP, clusterIPs, ipFamilies } }
}

/** In discovery.k8s.io/v1beta1 an endpoint says in its topology where it is. */
function fromOlderSlice(slice: JsonObject): JsonObject {
  if (!Array.isArray(slice['endpoints'])) return slice
  const endpoints = slice['endpoints'].map((endpoint: unknown) => {
    if (!isJsonObject(endpoint) || !isJsonObject(endpoint['topology'])) return endpoint
    const { topology, ...rest } = endpoint
    return {
      ...rest,
      nodeName: endpoint['nodeName'] ?? topology['kubernetes.io/hostname'],
      zone: endpoint['zone'] ?? topology['topology.kubernetes.io/zone'],
    }
  })
  return { ...slice, endpoints }
}
