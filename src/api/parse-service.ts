import { familyOf, parseIp } from '../net/ip.ts'
import type { Family } from '../net/ip.ts'
import { shownValue } from '../net/shown-value.ts'
import { usableAddress } from './address-rules.ts'
import type { AddressUse } from './address-rules.ts'
import type { JsonObject, JsonReader } from './json-reader.ts'
import type { Identified } from './identified.ts'
import { loadBalancerFields } from './parse-load-balancer.ts'
import type { IngressAddresses } from './parse-load-balancer.ts'
import { parseRelaying } from './parse-relaying.ts'
import { parseSockets } from './parse-sockets.ts'
import { parseTraffic } from './parse-traffic.ts'
import { parseWindows } from './parse-windows.ts'
import { isPortName, protocols, validPort } from './port-range.ts'
import type { ServicePort, ServiceRecord } from './records.ts'
import {
  addServicePort,
  affinitySeconds,
  externalTrafficPolicy,
  healthCheckNodePort,
  policies,
  readSourceRanges,
  serviceTypes,
} from './service-rules.ts'

export function parseService(object: Identified): ServiceRecord | undefined {
  const { raw, metadata, namespace, name, read } = object
  const spec = read.object(raw, 'spec', 'spec')
  const type = read.choice(spec, 'type', 'spec.type', serviceTypes, 'ClusterIP')
  const hasExternalIPs = Array.isArray(spec['externalIPs']) && spec['externalIPs'].length > 0
  const wished = read.choice(spec, 'externalTrafficPolicy', 'spec.externalTrafficPolicy', policies, 'Cluster')
  const annotations = read.object(metadata, 'annotations', 'metadata.annotations')
  const policy = externalTrafficPolicy(type, hasExternalIPs, wished)
  const ports = parsePorts(spec, read)
  return {
    kind: 'Service',
    namespace,
    name,
    ...createdAt(metadata),
    type,
    clusterIPs: type === 'ExternalName' ? {} : parseClusterIPs(spec, read),
    ports,
    externalIPs: [
      ...parseAddresses(read.strings(spec, 'externalIPs', 'spec.externalIPs'), 'external IP', 'spec.externalIPs', read),
    ],
    ...loadBalancerFields(parseIngress(raw, read), annotations, read),
    ...parseSourceRanges(spec, read),
    affinitySeconds: parseAffinity(spec, read),
    externalTrafficPolicy: policy,
    internalTrafficPolicy: read.choice(
      spec,
      'internalTrafficPolicy',
      'spec.internalTrafficPolicy',
      policies,
      'Cluster',
    ),
    healthCheckNodePort: healthCheckNodePort(
      { type, externalTrafficPolicy: policy },
      () => read.integer(spec, 'healthCheckNodePort', 'spec.healthCheckNodePort', { min: 0, max: 65_535 }) ?? 0,
      read,
    ),
    ...parseTraffic(annotations, ports, read),
    ...parseRelaying(annotations, read),
    ...parseSockets(annotations, read),
    ...parseWindows(annotations),
  }
}

function createdAt(metadata: JsonObject): Pick<ServiceRecord, 'createdAtMs'> {
  const text = metadata['creationTimestamp']
  const createdAtMs = typeof text === 'string' ? Date.parse(text) : Number.NaN
  return createdAtMs >= 0 ? { createdAtMs } : {}
}

/** `clusterIPs[i]` belongs to `ipFamilies[i]`. Objects from before dual stack only have `clusterIP`. */
function parseClusterIPs(spec: JsonObject, read: JsonReader): Partial<Record<Family, string>> {
  const first = read.string(spec, 'clusterIP', 'spec.clusterIP')
  if (first === '' || first === 'None') return {}
  const byFamily: Partial<Record<Family, string>> = {}
  const families = [...read.strings(spec, 'ipFamilies', 'spec.ipFamilies')]
  if (families.length === 0) {
    const ip = usableAddress(first, 'cluster IP', 'spec.clusterIP', read)
    if (ip !== undefined) byFamily[familyOf(ip)] = ip
    return byFamily
  }
  const addresses = read.list(spec, 'clusterIPs', 'spec.clusterIPs')
  for (const [family, index] of families) {
    const address = addresses[index]
    if (typeof address !== 'string') continue
    const path = `spec.clusterIPs[${index}]`
    const wanted = family === 'IPv6' ? 'ipv6' : 'ipv4'
    const ip = parseIp(address)
    if (ip !== undefined && familyOf(ip) !== wanted)
      read.problem(path, `${shownValue(address)} is not of the family in spec.ipFamilies[${index}]`)
    else {
      const usable = usableAddress(address, 'cluster IP', path, read)
      if (usable !== undefined) byFamily[wanted] ??= usable
    }
  }
  return byFamily
}

function parsePorts(spec: JsonObject, read: JsonReader): ServicePort[] {
  const ports = new Map<string, ServicePort>()
  for (const [raw, index] of read.objects(spec, 'ports', 'spec.ports')) {
    const path = `spec.ports[${index}]`
    const port = read.integer(raw, 'port', `${path}.port`, validPort)
    const protocol = read.choice(raw, 'protocol', `${path}.protocol`, protocols, 'TCP')
    if (port === undefined || (raw['protocol'] ?? protocol) !== protocol) continue // noted, or the port is absent
    const name = read.string(raw, 'name', `${path}.name`)
    if (!isPortName(name)) {
      read.problem(`${path}.name`, `${shownValue(name)} is not a name of letters, digits and "-"`)
      continue
    }
    const nodePort = read.integer(raw, 'nodePort', `${path}.nodePort`, { min: 0, max: 65_535 }) ?? 0
    addServicePort(ports, { name, protocol, port, nodePort }, path, read)
  }
  return [...ports.values()]
}

function parseIngress(raw: JsonObject, read: JsonReader): IngressAddresses {
  const status = read.object(raw, 'status', 'status')
  const loadBalancer = read.object(status, 'loadBalancer', 'status.loadBalancer')
  const path = 'status.loadBalancer.ingress'
  const vips: (readonly [string, number])[] = []
  const proxied: string[] = []
  for (const [ingress, index] of read.objects(loadBalancer, 'ingress', path)) {
    // With ipMode Proxy the load balancer itself must see the traffic, so nodes do not handle the address.
    const mode = ingress['ipMode'] ?? 'VIP'
    if (mode === 'VIP') vips.push([read.string(ingress, 'ip', `${path}[${index}].ip`), index])
    else proxied.push(typeof ingress['ip'] === 'string' ? ingress['ip'] : '')
  }
  return {
    vips: [...parseAddresses(vips, 'load-balancer IP', path, read)],
    proxied: proxied.map(parseIp).filter((ip) => ip !== undefined),
  }
}

function* parseAddresses(
  addresses: Iterable<readonly [string, number]>,
  use: AddressUse,
  path: string,
  read: JsonReader,
): Generator<string> {
  for (const [address, index] of addresses) {
    if (address.trim() === '') continue
    const ip = usableAddress(address, use, `${path}[${index}]`, read)
    if (ip !== undefined) yield ip
  }
}

function parseSourceRanges(spec: JsonObject, read: JsonReader): ReturnType<typeof readSourceRanges> {
  const field = 'loadBalancerSourceRanges'
  const texts = [...read.strings(spec, field, `spec.${field}`)]
  const raw = spec[field]
  const count = Array.isArray(raw) ? raw.length : raw === undefined || raw === null ? 0 : 1
  return readSourceRanges(texts, count, read)
}

function parseAffinity(spec: JsonObject, read: JsonReader): number {
  if (read.choice(spec, 'sessionAffinity', 'spec.sessionAffinity', ['None', 'ClientIP'], 'None') === 'None') return 0
  const path = 'spec.sessionAffinityConfig'
  const clientIP = read.object(read.object(spec, 'sessionAffinityConfig', path), 'clientIP', `${path}.clientIP`)
  return affinitySeconds(clientIP['timeoutSeconds'], read)
}
