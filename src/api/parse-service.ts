import { familyOf, parseCidr, parseIp } from '../net/ip.ts'
import type { Cidr, Family } from '../net/ip.ts'
import { shownValue } from '../net/shown-value.ts'
import type { JsonObject, JsonReader } from './json-reader.ts'
import type { Identified } from './identified.ts'
import { parseRelaying } from './parse-relaying.ts'
import { isPortName, protocols, validPort } from './port-range.ts'
import type { ServicePort, ServiceRecord } from './records.ts'

export const serviceTypes = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'] as const
export const policies = ['Cluster', 'Local'] as const
/** What the API server fills in when client-IP affinity names no timeout. */
const defaultAffinitySeconds = 10_800

export function parseService({ raw, namespace, name, resourceVersion, read }: Identified): ServiceRecord | undefined {
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
    type,
    clusterIPs: type === 'ExternalName' ? {} : parseClusterIPs(spec, read),
    ports: parsePorts(spec, read),
    externalIPs: [...parseAddresses(read.strings(spec, 'externalIPs', 'spec.externalIPs'), 'spec.externalIPs', read)],
    loadBalancerIPs: parseIngress(raw, read),
    sourceRanges: parseSourceRanges(spec, read),
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

/** `clusterIPs[i]` belongs to `ipFamilies[i]`; objects from before dual stack have only `clusterIP`. */
function parseClusterIPs(spec: JsonObject, read: JsonReader): Partial<Record<Family, string>> {
  const first = read.string(spec, 'clusterIP', 'spec.clusterIP')
  if (first === '' || first === 'None') return {}
  const byFamily: Partial<Record<Family, string>> = {}
  const families = [...read.strings(spec, 'ipFamilies', 'spec.ipFamilies')]
  if (families.length === 0) {
    const ip = parseIp(first)
    if (ip === undefined) read.problem('spec.clusterIP', notAnAddress(first))
    else byFamily[familyOf(ip)] = ip
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
    else byFamily[wanted] ??= ip
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
    const id = `${name}/${protocol}`
    if (ports.has(id)) read.problem(path, `repeats port name ${shownValue(name)} for ${protocol}; the last one counts`)
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
  return [...parseAddresses(addresses, path, read)]
}

function* parseAddresses(
  addresses: Iterable<readonly [string, number]>,
  path: string,
  read: JsonReader,
): Generator<string> {
  for (const [address, index] of addresses) {
    if (address.trim() === '') continue
    const ip = parseIp(address)
    if (ip === undefined) read.problem(`${path}[${index}]`, notAnAddress(address))
    else yield ip
  }
}

function parseSourceRanges(spec: JsonObject, read: JsonReader): Cidr[] {
  const ranges: Cidr[] = []
  for (const [text, index] of read.strings(spec, 'loadBalancerSourceRanges', 'spec.loadBalancerSourceRanges')) {
    const cidr = parseCidr(text.trim())
    if (cidr !== undefined) ranges.push(cidr)
    else read.problem(`spec.loadBalancerSourceRanges[${index}]`, `${shownValue(text)} is not a CIDR such as 10.0.0.0/8`)
  }
  return ranges
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
