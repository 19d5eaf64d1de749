/**
 * A Service of a KPNG server, as the record that makes our own router come to the same result. The form of each field
 * has been checked as it came over the wire (see LocalState); here are the rules that hold for objects of the API, too.
 * Problems bear the names that fields have there.
 */
import { usableAddress } from '../../api/address-rules.ts'
import type { AddressUse } from '../../api/address-rules.ts'
import { oneOf } from '../../api/field-checks.ts'
import type { ProblemNotes } from '../../api/field-checks.ts'
import { JsonReader } from '../../api/json-reader.ts'
import { loadBalancerFields } from '../../api/parse-load-balancer.ts'
import { parseSockets } from '../../api/parse-sockets.ts'
import { parseTraffic } from '../../api/parse-traffic.ts'
import { parseWindows } from '../../api/parse-windows.ts'
import { protocols } from '../../api/port-range.ts'
import { objectKey } from '../../api/records.ts'
import type { Parsed, ServicePort, ServiceRecord } from '../../api/records.ts'
import {
  addServicePort,
  affinitySeconds,
  externalTrafficPolicy,
  healthCheckNodePort,
  readSourceRanges,
  serviceTypes,
} from '../../api/service-rules.ts'
import type { Family } from '../../net/ip.ts'
import { familyOf } from '../../net/ip.ts'
import type { IPSet, Service } from '../../kpng/proto/generated/localv1/api.ts'
import { protocolName } from '../../kpng/wire/protocol-name.ts'

export function serviceRecord(service: Service): Parsed<ServiceRecord> {
  const { Namespace: namespace, Name: name, IPs: ips, SessionAffinity: affinity } = service
  const notes = new JsonReader('Service', objectKey({ namespace, name }))
  const type = serviceTypes.find((known) => known === service.Type) ?? 'ClusterIP'
  const policy = externalTrafficPolicy(
    type,
    textsOf(ips?.ExternalIPs).length > 0,
    service.ExternalTrafficToLocal ? 'Local' : 'Cluster',
  )
  const ranges = service.IPFilters.flatMap(({ SourceRanges }) => SourceRanges)
  const servicePorts = ports(service, notes)
  const record: ServiceRecord = {
    kind: 'Service',
    namespace,
    name,
    type,
    clusterIPs: type === 'ExternalName' || ips?.Headless === true ? {} : clusterIPs(ips?.ClusterIPs, notes),
    ports: servicePorts,
    externalIPs: addresses(ips?.ExternalIPs, 'external IP', 'spec.externalIPs', notes),
    ...loadBalancerFields(
      {
        vips: addresses(ips?.LoadBalancerIPs, 'load-balancer IP', 'status.loadBalancer.ingress', notes),
        proxied: [],
      },
      service.Annotations,
      notes,
    ),
    ...readSourceRanges(
      ranges.map((text, index) => [text, index]),
      ranges.length,
      notes,
    ),
    affinitySeconds: affinity === undefined ? 0 : affinitySeconds(affinity.value.TimeoutSeconds, notes),
    externalTrafficPolicy: policy,
    internalTrafficPolicy: service.InternalTrafficToLocal ? 'Local' : 'Cluster',
    healthCheckNodePort: healthCheckNodePort(
      { type, externalTrafficPolicy: policy },
      () => service.HealthCheckNodePort,
      notes,
    ),
    // Present if the core was told to pass them on.
    ...parseTraffic(service.Annotations, servicePorts, notes),
    ...parseSockets(service.Annotations, notes),
    ...parseWindows(service.Annotations),
  }
  return { ok: true, record, problems: notes.problems }
}

/** As KPNG calls it. */
export const unknownProtocol = 'UnknownProtocol'

/** The first good one of each family. */
function clusterIPs(set: IPSet | undefined, notes: ProblemNotes): ServiceRecord['clusterIPs'] {
  const byFamily: Partial<Record<Family, string>> = {}
  for (const ip of addresses(set, 'cluster IP', 'spec.clusterIPs', notes)) byFamily[familyOf(ip)] ??= ip
  return byFamily
}

function ports(service: Service, notes: ProblemNotes): readonly ServicePort[] {
  const portsById = new Map<string, ServicePort>()
  for (const [index, { Name: name, Protocol, Port: port, NodePort: nodePort }] of service.Ports.entries()) {
    const field = `spec.ports[${index}]`
    const protocol = oneOf(protocolName(Protocol) ?? unknownProtocol, protocols, `${field}.protocol`, notes)
    if (protocol !== undefined) addServicePort(portsById, { name, protocol, port, nodePort }, field, notes)
  }
  return [...portsById.values()]
}

function addresses(set: IPSet | undefined, use: AddressUse, field: string, notes: ProblemNotes): readonly string[] {
  return textsOf(set)
    .map((text, index) => usableAddress(text, use, `${field}[${index}]`, notes))
    .filter((ip) => ip !== undefined)
}

function textsOf(set: IPSet | undefined): readonly string[] {
  return set === undefined ? [] : [...set.V4, ...set.V6]
}
