/**
 * Converts a Service of the Kubernetes API to KPNG's. The record has the parsed and checked fields; the rest is read
 * here.
 */
import type { JsonObject } from '../../api/json-reader.ts'
import { isJsonObject } from '../../api/json-reader.ts'
import type { Protocol as ProtocolName, ServicePort, ServiceRecord } from '../../api/records.ts'
import { families, renderCidr } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { Protocol } from '../proto/generated/localv1/api.ts'
import type { PortMapping, Service } from '../proto/generated/localv1/api.ts'
import { ipSet } from './ip-set.ts'
import type { LabelFilter } from './label-globs.ts'

export interface ServiceFilters {
  readonly labels: LabelFilter
  readonly annotations: LabelFilter
}

export function readService(record: ServiceRecord, raw: JsonObject, filters: ServiceFilters): Service {
  const metadata = objectIn(raw, 'metadata')
  const spec = objectIn(raw, 'spec')
  const ingress = objectIn(objectIn(raw, 'status'), 'loadBalancer')['ingress']
  const hasIngress = Array.isArray(ingress) && ingress.length > 0
  return {
    Namespace: record.namespace,
    Name: record.name,
    Type: record.type,
    IPs: {
      ClusterIPs: ipSet(Object.values(record.clusterIPs)),
      ExternalIPs: ipSet(record.externalIPs),
      Headless: spec['clusterIP'] === 'None',
      ...(hasIngress && { LoadBalancerIPs: ipSet(record.loadBalancerIPs) }),
    },
    MapIP: false,
    Ports: record.ports.map((port) => portMapping(port, targetOf(port, spec))),
    ExternalTrafficToLocal: record.externalTrafficPolicy === 'Local',
    InternalTrafficToLocal: record.internalTrafficPolicy === 'Local',
    Labels: filters.labels(objectIn(metadata, 'labels')),
    Annotations: filters.annotations(objectIn(metadata, 'annotations')),
    IPFilters: ipFilters(record),
    HealthCheckNodePort: record.healthCheckNodePort,
    ...(record.affinitySeconds > 0 && {
      SessionAffinity: { $case: 'ClientIP', value: { TimeoutSeconds: record.affinitySeconds } } as const,
    }),
  }
}

function ipFilters({ sourceRanges, hasUnreadableSourceRange }: ServiceRecord): Service['IPFilters'] {
  const ranges = sourceRanges.map(renderCidr)
  if (hasUnreadableSourceRange === true)
    for (const family of families)
      if (sourceRanges.every((range) => range.family !== family)) ranges.push(nobody[family])
  return ranges.length === 0 ? [] : [{ SourceRanges: ranges }]
}

/** KPNG cannot say that nobody may connect, but no client has one of these as its source address. */
const nobody: Readonly<Record<Family, string>> = { ipv4: '0.0.0.0/32', ipv6: '::/128' }

const protocolNumbers: Readonly<Record<ProtocolName, Protocol>> = {
  TCP: Protocol.TCP,
  UDP: Protocol.UDP,
  SCTP: Protocol.SCTP,
}

function portMapping({ name, protocol, port, nodePort }: ServicePort, target: unknown): PortMapping {
  return {
    Name: name,
    Protocol: protocolNumbers[protocol],
    Port: port,
    NodePort: nodePort,
    // Where an object has no target port, the API server uses the port itself.
    TargetPort: typeof target === 'number' ? target : target === undefined ? port : 0,
    TargetPortName: typeof target === 'string' ? target : '',
  }
}

function targetOf(port: ServicePort, spec: JsonObject): unknown {
  const ports: readonly unknown[] = Array.isArray(spec['ports']) ? spec['ports'] : []
  const raw = ports.findLast(
    (candidate) =>
      isJsonObject(candidate) &&
      (candidate['name'] ?? '') === port.name &&
      (candidate['protocol'] ?? 'TCP') === port.protocol,
  )
  return isJsonObject(raw) ? (raw['targetPort'] ?? undefined) : undefined
}

function objectIn(parent: JsonObject, name: string): JsonObject {
  const value = parent[name]
  return isJsonObject(value) ? value : {}
}
