/**
 * Records that come back from disk. The file may have been written by somebody else, so nothing in it is trusted: a
 * record is accepted only if parsing an API object could have produced it.
 */
import { familyOf, families, parseCidr, parseIp, renderCidr } from '../net/ip.ts'
import type { Cidr, Family } from '../net/ip.ts'
import { shownValue } from '../net/shown-value.ts'
import { addressProblem } from './address-rules.ts'
import type { AddressUse } from './address-rules.ts'
import { isJsonObject } from './json-reader.ts'
import type { JsonObject } from './json-reader.ts'
import { isObjectName } from './object-name.ts'
import type { NumberRange } from './field-checks.ts'
import { connectionAgeRange, healthPathPattern, limitRange, slowStartRange } from './parse-traffic.ts'
import type { WeightedPod } from './parse-pod-weight.ts'
import { weightRange } from './parse-weights.ts'
import { isPortName, protocols, validPort } from './port-range.ts'
import { algorithms, guardModes, ipvsSchedulers, objectKey, objectKinds } from './records.ts'
import type {
  HealthCheck,
  LeftToLoadBalancer,
  NamespaceRecord,
  NodeRecord,
  ObjectKind,
  ObjectRecord,
  PortRange,
  Relaying,
  ServiceCidrRecord,
  ServicePort,
  ServiceRecord,
  SliceEndpoint,
  SlicePort,
  SliceRecord,
  SocketWishes,
  TrafficWishes,
  WeightRule,
  WindowsWishes,
} from './records.ts'
import { policies, serviceTypes } from './service-rules.ts'
import { sharedZones } from './shared-texts.ts'

export type ReadRecord<T = ObjectRecord> =
  { readonly ok: true; readonly record: T } | { readonly ok: false; readonly reason: string }

export function readStoredRecord(stored: unknown): ReadRecord {
  return readWith(stored, (fields) => readers[choiceOf(fields, 'kind', objectKinds)](fields))
}

export function readStoredPod(stored: unknown): ReadRecord<WeightedPod> {
  return readWith(stored, readPod)
}

function readWith<T>(stored: unknown, read: (fields: JsonObject) => T): ReadRecord<T> {
  try {
    return { ok: true, record: read(objectOf(stored, 'the record')) }
  } catch (error) {
    if (error instanceof Unfit) return { ok: false, reason: error.message }
    throw error
  }
}

/** Thrown to stop reading a record; it never leaves this file. */
class Unfit extends Error {}

const readers: { readonly [K in ObjectKind]: (fields: JsonObject) => Extract<ObjectRecord, { kind: K }> } = {
  Service: readService,
  EndpointSlice: readSlice,
  Node: readNode,
  ServiceCIDR: readServiceCidr,
  Namespace: readNamespace,
}

function readPod(fields: JsonObject): WeightedPod {
  const namespace = nameOf(fields, 'namespace')
  return {
    key: objectKey({ namespace, name: nameOf(fields, 'name') }),
    namespace,
    ips: listOf(fields, 'ips', ipOf),
    weight: numberOf(fields, 'weight', weightRange.max),
  }
}

function readService(fields: JsonObject): ServiceRecord {
  return {
    kind: 'Service',
    namespace: nameOf(fields, 'namespace'),
    name: nameOf(fields, 'name'),
    ...(fields['createdAtMs'] !== undefined && { createdAtMs: numberOf(fields, 'createdAtMs', maxTimeMs) }),
    type: choiceOf(fields, 'type', serviceTypes),
    clusterIPs: clusterIPsOf(fields),
    ports: listOf(fields, 'ports', servicePortOf),
    externalIPs: listOf(fields, 'externalIPs', ipFor('external IP')),
    loadBalancerIPs: listOf(fields, 'loadBalancerIPs', ipFor('load-balancer IP')),
    ...(fields['leftToLoadBalancer'] !== undefined && {
      leftToLoadBalancer: leftOf(objectOf(fields['leftToLoadBalancer'], 'leftToLoadBalancer')),
    }),
    sourceRanges: listOf(fields, 'sourceRanges', cidrOf),
    // Anything but absent closes the load balancer: if in doubt, nobody is allowed.
    ...(fields['hasUnreadableSourceRange'] !== undefined && { hasUnreadableSourceRange: true }),
    affinitySeconds: numberOf(fields, 'affinitySeconds', 86_400),
    externalTrafficPolicy: choiceOf(fields, 'externalTrafficPolicy', policies),
    internalTrafficPolicy: choiceOf(fields, 'internalTrafficPolicy', policies),
    healthCheckNodePort: portOf(fields, 'healthCheckNodePort', 0),
    ...(fields['traffic'] !== undefined && { traffic: trafficOf(objectOf(fields['traffic'], 'traffic')) }),
    ...(fields['relaying'] !== undefined && { relaying: relayingOf(objectOf(fields['relaying'], 'relaying')) }),
    ...(fields['sockets'] !== undefined && { sockets: socketsOf(objectOf(fields['sockets'], 'sockets')) }),
    ...(fields['windows'] !== undefined && { windows: windowsOf(objectOf(fields['windows'], 'windows')) }),
  }
}

function readSlice(fields: JsonObject): SliceRecord {
  const family = choiceOf(fields, 'family', families)
  return {
    kind: 'EndpointSlice',
    namespace: nameOf(fields, 'namespace'),
    name: nameOf(fields, 'name'),
    serviceName: textOf(fields, 'serviceName'),
    family,
    ports: listOf(fields, 'ports', slicePortOf),
    endpoints: listOf(fields, 'endpoints', (value, place) => endpointOf(objectOf(value, place), family)),
    ...(fields['weights'] !== undefined && { weights: listOf(fields, 'weights', weightRuleOf) }),
    triggerTimeMs: fields['triggerTimeMs'] === undefined ? undefined : numberOf(fields, 'triggerTimeMs', maxTimeMs),
  }
}

function readNode(fields: JsonObject): NodeRecord {
  return {
    kind: 'Node',
    name: nameOf(fields, 'name'),
    ips: listOf(fields, 'ips', ipOf),
    ...(fields['otherIps'] !== undefined && { otherIps: listOf(fields, 'otherIps', ipOf) }),
    podCIDRs: listOf(fields, 'podCIDRs', cidrTextOf),
    zone: textOf(fields, 'zone'),
    isBeingDeleted: booleanOf(fields, 'isBeingDeleted'),
    taintKeys: listOf(fields, 'taintKeys', plainText),
  }
}

function readServiceCidr(fields: JsonObject): ServiceCidrRecord {
  return {
    kind: 'ServiceCIDR',
    name: nameOf(fields, 'name'),
    cidrs: listOf(fields, 'cidrs', cidrOf),
  }
}

function readNamespace(fields: JsonObject): NamespaceRecord {
  return {
    kind: 'Namespace',
    name: nameOf(fields, 'name'),
    ...(fields['externalIPGuard'] !== undefined && {
      externalIPGuard: choiceOf(fields, 'externalIPGuard', guardModes),
    }),
    ...(fields['externalIPCidrs'] !== undefined && { externalIPCidrs: listOf(fields, 'externalIPCidrs', cidrOf) }),
  }
}

function clusterIPsOf(fields: JsonObject): Partial<Record<Family, string>> {
  const byFamily: Partial<Record<Family, string>> = {}
  for (const [family, value] of Object.entries(objectOf(fields['clusterIPs'], 'clusterIPs'))) {
    const known = families.find((name) => name === family) ?? unfit('clusterIPs', family)
    byFamily[known] = ipFor('cluster IP')(value, `clusterIPs.${family}`, known)
  }
  return byFamily
}

function servicePortOf(value: unknown, place: string): ServicePort {
  const port = objectOf(value, place)
  return { ...slicePortOf(port, place), nodePort: portOf(port, 'nodePort', 0) }
}

function slicePortOf(value: unknown, place: string): SlicePort {
  const port = objectOf(value, place)
  const name = textOf(port, 'name')
  if (!isPortName(name)) unfit(`${place}.name`, name)
  return { name, protocol: choiceOf(port, 'protocol', protocols), port: portOf(port, 'port', 1) }
}

function endpointOf(endpoint: JsonObject, family: Family): SliceEndpoint {
  return {
    ip: ipFor('endpoint')(endpoint['ip'], 'ip', family),
    nodeName: textOf(endpoint, 'nodeName'),
    ready: booleanOf(endpoint, 'ready'),
    serving: booleanOf(endpoint, 'serving'),
    terminating: booleanOf(endpoint, 'terminating'),
    ...(endpoint['zone'] !== undefined && { zone: sharedZones.get(textOf(endpoint, 'zone')) }),
    zoneHints: listOf(endpoint, 'zoneHints', plainText),
    nodeHints: listOf(endpoint, 'nodeHints', plainText),
  }
}

/** A wish of which a later version may know more is left out; one with a wrong value is not trusted. */
function trafficOf(stored: JsonObject): TrafficWishes {
  const numbers: readonly (readonly [keyof TrafficWishes, NumberRange])[] = [
    ['slowStartMs', slowStartRange],
    ['maxConnectionAgeMs', connectionAgeRange],
    ['maxConnections', limitRange],
    ['maxConnectionsPerEndpoint', limitRange],
    ['maxDialsPerSecond', limitRange],
    ['maxDialsPerSecondPerEndpoint', limitRange],
  ]
  return {
    ...(stored['algorithm'] !== undefined && { algorithm: choiceOf(stored, 'algorithm', algorithms) }),
    ...(stored['ipvsScheduler'] !== undefined && {
      ipvsScheduler: choiceOf(stored, 'ipvsScheduler', ipvsSchedulers),
    }),
    ...(stored['weights'] !== undefined && { weights: listOf(stored, 'weights', weightRuleOf) }),
    ...(stored['healthCheck'] !== undefined && {
      healthCheck: healthCheckOf(objectOf(stored['healthCheck'], 'healthCheck')),
    }),
    ...(stored['portRange'] !== undefined && { portRange: portRangeOf(objectOf(stored['portRange'], 'portRange')) }),
    ...Object.fromEntries(
      numbers
        .filter(([wish]) => stored[wish] !== undefined)
        .map(([wish, { min, max }]) => [wish, numberOf(stored, wish, max, min)]),
    ),
  }
}

function portRangeOf(stored: JsonObject): PortRange {
  const first = portOf(stored, 'first', validPort.min)
  const last = portOf(stored, 'last', validPort.min)
  return first < last ? { first, last } : unfit('portRange.last', last)
}

function weightRuleOf(value: unknown, place: string): WeightRule {
  const rule = objectOf(value, place)
  const of = choiceOf(rule, 'of', ['zone', 'node', 'ip', 'every'])
  const name = of === 'ip' ? ipOf(rule['name'], `${place}.name`) : textOf(rule, 'name')
  return { of, name, weight: numberOf(rule, 'weight', weightRange.max) }
}

function healthCheckOf(check: JsonObject): HealthCheck {
  const kind = choiceOf(check, 'kind', ['tcp', 'http'])
  if (kind === 'tcp') return { kind }
  const path = textOf(check, 'path')
  return healthPathPattern.test(path) ? { kind, path } : unfit('healthCheck.path', path)
}

function leftOf(left: JsonObject): LeftToLoadBalancer {
  return { ips: listOf(left, 'ips', ipOf), because: choiceOf(left, 'because', ['ipMode', 'hairpin']) }
}

function relayingOf(wishes: JsonObject): Relaying {
  return {
    ...(wishes['proxyProtocol'] !== undefined && { proxyProtocol: choiceOf(wishes, 'proxyProtocol', ['v1', 'v2']) }),
    ...(wishes['clientAddress'] !== undefined && {
      clientAddress: choiceOf(wishes, 'clientAddress', ['node', 'transparent']),
    }),
  }
}

function socketsOf(wishes: JsonObject): SocketWishes {
  return {
    ...(wishes['balancing'] !== undefined && { balancing: choiceOf(wishes, 'balancing', ['off']) }),
  }
}

function windowsOf(wishes: JsonObject): WindowsWishes {
  return {
    ...(wishes['preservesDestination'] !== undefined && {
      preservesDestination: trueOf(wishes, 'preservesDestination'),
    }),
    ...(wishes['rebuilds'] !== undefined && { rebuilds: trueOf(wishes, 'rebuilds') }),
  }
}

function objectOf(value: unknown, place: string): JsonObject {
  return isJsonObject(value) ? value : unfit(place, value)
}

function listOf<T>(fields: JsonObject, field: string, read: (value: unknown, place: string) => T): T[] {
  const values = fields[field]
  if (!Array.isArray(values)) return unfit(field, values)
  return values.map((value: unknown, index) => read(value, `${field}[${index}]`))
}

function choiceOf<T extends string>(fields: JsonObject, field: string, choices: readonly T[]): T {
  return choices.find((choice) => choice === fields[field]) ?? unfit(field, fields[field])
}

function nameOf(fields: JsonObject, field: string): string {
  const value = fields[field]
  return isObjectName(value) ? value : unfit(field, value)
}

function textOf(fields: JsonObject, field: string): string {
  return plainText(fields[field], field)
}

/** Names of nodes and zones, and versions: they need no control characters and are not long. */
function plainText(value: unknown, place: string): string {
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  return typeof value === 'string' && /^[^\u0000-\u001f\u007f]{0,317}$/.test(value) ? value : unfit(place, value)
}

function booleanOf(fields: JsonObject, field: string): boolean {
  const value = fields[field]
  return typeof value === 'boolean' ? value : unfit(field, value)
}

function trueOf(fields: JsonObject, field: string): true {
  return fields[field] === true ? true : unfit(field, fields[field])
}

/** The last time that a Date can represent. */
const maxTimeMs = 8.64e15

function numberOf(fields: JsonObject, field: string, max: number, min = 0): number {
  const value = fields[field]
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
    ? value
    : unfit(field, value)
}

function portOf(fields: JsonObject, field: string, min: 0 | 1): number {
  return numberOf(fields, field, 65_535, min)
}

function ipFor(use: AddressUse): typeof ipOf {
  return (value, place, family) => {
    const ip = ipOf(value, place, family)
    return addressProblem(ip, use) === undefined ? ip : unfit(place, ip)
  }
}

/** Records only have canonical texts; anything else was not written by us. */
function ipOf(value: unknown, place: string, family?: Family): string {
  const isCanonical = typeof value === 'string' && parseIp(value) === value
  return isCanonical && (family === undefined || familyOf(value) === family) ? value : unfit(place, value)
}

function cidrOf(value: unknown, place: string): Cidr {
  const { network, prefixLength } = objectOf(value, place)
  const cidr = parseCidr(`${String(network)}/${String(prefixLength)}`)
  return cidr !== undefined && cidr.network === network ? cidr : unfit(place, network)
}

function cidrTextOf(value: unknown, place: string): string {
  const cidr = typeof value === 'string' ? parseCidr(value) : undefined
  return cidr !== undefined && renderCidr(cidr) === value ? value : unfit(place, value)
}

function unfit(place: string, value: unknown): never {
  throw new Unfit(`${place} cannot be ${shownValue(value)}`)
}
