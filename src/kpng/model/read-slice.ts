/** Converts an EndpointSlice of the Kubernetes API to KPNG's endpoints. */
import type { JsonObject } from '../../api/json-reader.ts'
import { isJsonObject } from '../../api/json-reader.ts'
import type { SliceEndpoint, SliceRecord } from '../../api/records.ts'
import { parseIp } from '../../net/ip.ts'
import { clusterEndpoint } from './cluster-model.ts'
import type { ClusterEndpoint, EndpointSource } from './cluster-model.ts'
import { ipSet } from './ip-set.ts'

export function readSlice(record: SliceRecord, raw: JsonObject): EndpointSource {
  const rawByIp = rawEndpointsByIp(raw)
  return {
    namespace: record.namespace,
    source: record.name,
    service: record.serviceName,
    endpoints: record.endpoints.map((endpoint) => readEndpoint(endpoint, rawByIp.get(endpoint.ip) ?? {}, record)),
  }
}

function readEndpoint(endpoint: SliceEndpoint, raw: JsonObject, slice: SliceRecord): ClusterEndpoint {
  const { ip, ready, serving, terminating, nodeName, zone = '', zoneHints, nodeHints } = endpoint
  const target = isJsonObject(raw['targetRef']) ? raw['targetRef'] : {}
  return clusterEndpoint(
    {
      Namespace: slice.namespace,
      SourceName: slice.name,
      ServiceName: slice.serviceName,
      PodName: target['kind'] === 'Pod' ? textOf(target['name']) : '',
      Endpoint: {
        Hostname: textOf(raw['hostname']),
        // Only the first address of an endpoint is used, but it may be written in more than one way.
        IPs: ipSet([ip]),
        Local: false,
        PortOverrides: slice.ports.map(({ name, port }) => ({ Name: name, Port: port })),
      },
      Topology: { Node: nodeName, Zone: zone },
      ...(saysReady(raw) && { Conditions: { Ready: ready } }),
      ...(zoneHints.length > 0 && { Hints: { Zones: [...zoneHints].sort() } }),
    },
    { serving, terminating, nodeHints },
  )
}

/** Without conditions an endpoint is ready, in slices and in messages. */
function saysReady({ conditions }: JsonObject): boolean {
  return isJsonObject(conditions) && typeof conditions['ready'] === 'boolean'
}

/** The record only has the valid endpoints. Their addresses find the raw ones. */
function rawEndpointsByIp(raw: JsonObject): ReadonlyMap<string, JsonObject> {
  const found = new Map<string, JsonObject>()
  const endpoints: readonly unknown[] = Array.isArray(raw['endpoints']) ? raw['endpoints'] : []
  for (const endpoint of endpoints) {
    const addresses = isJsonObject(endpoint) ? endpoint['addresses'] : undefined
    const first: unknown = Array.isArray(addresses) ? addresses[0] : undefined
    const ip = typeof first === 'string' ? parseIp(first) : undefined
    if (ip !== undefined && isJsonObject(endpoint)) found.set(ip, endpoint)
  }
  return found
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
