import { familyOf, parseCidr, parseIp } from '../net/ip.ts'
import type { Cidr, Family } from '../net/ip.ts'
import { shownValue } from '../net/shown-value.ts'
import { addressProblem } from './address-rules.ts'
import type { AddressUse } from './address-rules.ts'
import type { JsonObject, JsonReader } from './json-reader.ts'
import type { Identified } from './identified.ts'
import { parseRelaying } from './parse-relaying.ts'
import { isPortName, protocols, validPort } from './port-range.ts'
import type { ServicePort, ServiceRecord } from './records.ts'

export const serviceTypes = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'] as const
export const policies = ['Cluster', 'Local'] as const
/** What the API server fills in when client-IP affinity names no timeout. */
const defaultAffinitySeconds = 10_800

export function parseService(object: Identified): ServiceRecord | undefined {
  const { raw, metadata, namespace, name, resourceVersion, read } = object
  const spec = read.object(raw, 'spec', 'spec')
  const type = read.choice(spec, 'type', 'spec.type', serviceTypes, 'ClusterIP')
  const isExternallyReachableType =
    type === 'LoadBalancer' ||
    type === 'NodePort' ||
    (type === 'ClusterIP' && read.list(spec, 'externalIPs', 'spec.externalIPs').length > 0)
  const externalPolicy = read.choice(spec, 'externalTrafficPolicy', 'spec.externalTrafficPolicy', policies, 'Cluster')
  const externalTrafficPolicy = isExternallyReachableType ? externalPolicy : 'Cluster'
  return {
    kind: 'Service',
    namespace,
    name,
    resourceVersion,
    ...createdAt(metadata),
    type,
    clusterIPs: type === 'ExternalName' ? {} : parseClusterIPs(spec, read),
    ports: parsePorts(spec, read),
    externalIPs: [
      ...parseAddresses(read.strings(spec, 'externalIPs', 'spec.externalIPs'), 'external IP', 'spec.externalIPs', read),
    ],
    loadBalancerIPs: parseIngress(raw, read),
    ...parseSourceRanges(spec, read),
    affinitySeconds: parseAffinity(spec, read),
    externalTrafficPolicy,
    internalTrafficPolicy: read.choice(
      spec,
      'internalTrafficPolicy',
      'spec.internalTrafficPolicy',
      policies,
      'Cluster',
    ),
    healthCheckNodePort:
      type === 'LoadBalancer' && externalTrafficPolicy === 'Local' ? parseHealthCheckPort(spec, read) : 0,
    ...parseRelaying(raw, read),
  }
}

function createdAt(metadata: JsonObject): Pick<ServiceRecord, 'createdAtMs'> {
  const text = metadata['creationTimestamp']
  const createdAtMs = typeof text === 'string' ? Date.parse(text) : Number.NaN
  return createdAtMs >= 0 ? { createdAtMs } : {}
}

/** `clusterIPs[i]` belongs to `ipFamilies[i]`; objects from before dual stack have only `clusterIP`. */
function parseClusterIPs(spec: JsonObject, read: JsonReader): Partial<Record<Family, string>> {
  const first = read.string(spec, 'clusterIP', 'spec.clusterIP')
  if (first === '' || first === 'None') return {}
  const byFamily: Partial<Record<Family, string>> = {}
  const families = [...read.strings(spec, 'ipFamilies', 'spec.ipFamilies')]
  if (families.length === 0) {
    const ip = parseIp(first)
    if (ip === undefined) read.problem('spec.clusterIP', notAnAddress(first))
    else if (mayHave(ip, 'cluster IP', 'spec.clusterIP', read)) byFamily[familyOf(ip)] = ip
    return byFamily
  }
  const addresses = read.list(spec, 'clusterIPs', 'spec.clusterIPs')
  for (const [family, index] of families) {
    const address = addresses[index]
    if (typeof address !== 'string') continue
    const ip = parseIp(address)
    const wanted = family === 'IPv6' ? 'ipv6' : 'ipv4'
    if (ip === undefined) read.problem(`spec.clusterIPs[${index}]`, notAnAddress(address))
    else if (familyOf(ip) !== wanted)
      read.problem(
        `spec.clusterIPs[${index}]`,
        `${shownValue(address)} is not of the family in spec.ipFamilies[${index}]`,
      )
    else if (mayHave(ip, 'cluster IP', `spec.clusterIPs[${index}]`, read)) byFamily[wanted] ??= ip
  }
  return byFamily
}

/** Whoever writes such an address into a Service would take what belongs to the machine itself. */
function mayHave(ip: string, use: AddressUse, path: string, read: JsonReader): boolean {
  const problem = addressProblem(ip, use)
  if (problem !== undefined) read.problem(path, problem)
  return problem === undefined
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
    const id = `${name}/${protocol}`
    if (ports.has(id)) read.problem(path, `repeats port name ${shownValue(name)} for ${protocol}; the last one is used`)
    const nodePort = read.integer(raw, 'nodePort', `${path}.nodePort`, { min: 0, max: 65_535 }) ?? 0
    ports.set(id, { name, protocol, port, nodePort })
  }
  return [...ports.values()]
}

function parseIngress(raw: JsonObject, read: JsonReader): string[] {
  const status = read.object(raw, 'status', 'status')
  const loadBalancer = read.object(status, 'loadBalancer', 'status.loadBalancer')
  const path = 'status.loadBalancer.ingress'
  const addresses: (readonly [string, number])[] = []
  for (const [ingress, index] of read.objects(loadBalancer, 'ingress', path)) {
    // With ipMode Proxy the load balancer itself must see the traffic, so nodes leave the address alone.
    const mode = ingress['ipMode'] ?? 'VIP'
    if (mode === 'VIP') addresses.push([read.string(ingress, 'ip', `${path}[${index}].ip`), index])
  }
  return [...parseAddresses(addresses, 'load-balancer IP', path, read)]
}

function* parseAddresses(
  addresses: Iterable<readonly [string, number]>,
  use: AddressUse,
  path: string,
  read: JsonReader,
): Generator<string> {
  for (const [address, index] of addresses) {
    if (address.trim() === '') continue
    const ip = parseIp(address)
    if (ip === undefined) read.problem(`${path}[${index}]`, notAnAddress(address))
    else if (mayHave(ip, use, `${path}[${index}]`, read)) yield ip
  }
}

/** A restriction that cannot be read still restricts: what it meant to allow is unknown, so it allows nobody. */
function parseSourceRanges(
  spec: JsonObject,
  read: JsonReader,
): Pick<ServiceRecord, 'sourceRanges' | 'hasUnreadableSourceRange'> {
  const field = 'loadBalancerSourceRanges'
  const ranges: Cidr[] = []
  const texts = [...read.strings(spec, field, `spec.${field}`)]
  for (const [text, index] of texts) {
    const cidr = parseCidr(text.trim())
    if (cidr !== undefined) ranges.push(cidr)
    else
      read.problem(
        `spec.${field}[${index}]`,
        `${shownValue(text)} is not a CIDR such as 10.0.0.0/8; it allows nobody to use the load-balancer IPs`,
      )
  }
  const raw = spec[field]
  const count = Array.isArray(raw) ? raw.length : raw === undefined || raw === null ? 0 : 1
  return { sourceRanges: ranges, ...(ranges.length < count && { hasUnreadableSourceRange: true }) }
}

function parseAffinity(spec: JsonObject, read: JsonReader): number {
  if (read.choice(spec, 'sessionAffinity', 'spec.sessionAffinity', ['None', 'ClientIP'], 'None') === 'None') return 0
  const path = 'spec.sessionAffinityConfig'
  const clientIP = read.object(read.object(spec, 'sessionAffinityConfig', path), 'clientIP', `${path}.clientIP`)
  const range = { min: 1, max: 86_400 }
  return read.integer(clientIP, 'timeoutSeconds', `${path}.clientIP.timeoutSeconds`, range) ?? defaultAffinitySeconds
}

function parseHealthCheckPort(spec: JsonObject, read: JsonReader): number {
  const port = read.integer(spec, 'healthCheckNodePort', 'spec.healthCheckNodePort', { min: 0, max: 65_535 }) ?? 0
  if (port === 0)
    read.problem('spec.healthCheckNodePort', 'is needed by a load balancer with externalTrafficPolicy Local')
  return port
}

function notAnAddress(text: string): string {
  return `${shownValue(text)} is not an IP address`
}
