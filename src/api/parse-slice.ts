import type { Family } from '../net/ip.ts'
import { endpointAddress } from './address-rules.ts'
import type { JsonObject, JsonReader } from './json-reader.ts'
import type { Identified } from './identified.ts'
import { parseWeights } from './parse-weights.ts'
import { isEveryPort, protocols, validPort } from './port-range.ts'
import type { SliceEndpoint, SlicePort, SliceRecord } from './records.ts'
import { trafficAnnotations } from './parse-traffic.ts'
import { sharedZones } from './shared-texts.ts'

const serviceNameLabel = 'kubernetes.io/service-name'
const triggerTimeAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time'
const noHints: readonly string[] = []

export function parseSlice(object: Identified): SliceRecord | undefined {
  const { raw, metadata, namespace, name, read } = object
  const labels = read.object(metadata, 'labels', 'metadata.labels')
  const serviceName = read.string(labels, serviceNameLabel, `metadata.labels["${serviceNameLabel}"]`)
  if (serviceName === '') {
    read.problem(`metadata.labels["${serviceNameLabel}"]`, 'must name the Service this slice belongs to')
    return undefined
  }
  const addressType = read.choice(raw, 'addressType', 'addressType', ['IPv4', 'IPv6', 'FQDN'], 'FQDN')
  if (addressType === 'FQDN') {
    read.problem('addressType', 'only IPv4 and IPv6 can be proxied')
    return undefined
  }
  const family = addressType === 'IPv4' ? 'ipv4' : 'ipv6'
  const annotations = read.object(metadata, 'annotations', 'metadata.annotations')
  return {
    kind: 'EndpointSlice',
    namespace,
    name,
    serviceName,
    family,
    ports: parsePorts(raw, read),
    endpoints: parseEndpoints(raw, family, read),
    ...parseSliceWeights(annotations, read),
    triggerTimeMs: parseTriggerTime(annotations),
  }
}

function parseSliceWeights(annotations: JsonObject, read: JsonReader): Pick<SliceRecord, 'weights'> {
  const annotation = trafficAnnotations.weights
  const path = `metadata.annotations[${annotation}]`
  const text = read.string(annotations, annotation, path)
  const weights = text === '' ? undefined : parseWeights(text, path, read)
  return weights === undefined ? {} : { weights }
}

function parsePorts(raw: JsonObject, read: JsonReader): SlicePort[] {
  const ports: SlicePort[] = []
  for (const [port, index] of read.objects(raw, 'ports', 'ports')) {
    const path = `ports[${index}]`
    if (typeof port['name'] !== 'string') {
      read.problem(`${path}.name`, 'must be a string; "" for the unnamed port')
      continue
    }
    if (isEveryPort(port['port'], `${path}.port`, read)) continue
    const number = read.integer(port, 'port', `${path}.port`, validPort)
    const protocol = read.choice(port, 'protocol', `${path}.protocol`, protocols, 'TCP')
    if (number === undefined || (port['protocol'] ?? protocol) !== protocol) continue
    ports.push({ name: port['name'], protocol, port: number })
  }
  return ports
}

function parseEndpoints(raw: JsonObject, family: Family, read: JsonReader): SliceEndpoint[] {
  const endpoints: SliceEndpoint[] = []
  for (const [endpoint, index] of read.objects(raw, 'endpoints', 'endpoints')) {
    const path = `endpoints[${index}]`
    // Kubernetes gives no meaning to further addresses, so only the first is used.
    const address = read.list(endpoint, 'addresses', `${path}.addresses`)[0]
    const ip = endpointAddress(address, family, `${path}.addresses[0]`, read)
    if (ip === undefined) continue
    const conditions = read.object(endpoint, 'conditions', `${path}.conditions`)
    const hints = read.object(endpoint, 'hints', `${path}.hints`)
    endpoints.push({
      ip,
      nodeName: read.string(endpoint, 'nodeName', `${path}.nodeName`),
      ready: read.boolean(conditions, 'ready', `${path}.conditions.ready`, true),
      serving: read.boolean(conditions, 'serving', `${path}.conditions.serving`, true),
      terminating: read.boolean(conditions, 'terminating', `${path}.conditions.terminating`, false),
      ...parseZone(endpoint, path, read),
      zoneHints: parseHints(hints, 'forZones', `${path}.hints.forZones`, read),
      nodeHints: parseHints(hints, 'forNodes', `${path}.hints.forNodes`, read),
    })
  }
  return endpoints
}

function parseZone(endpoint: JsonObject, path: string, read: JsonReader): Pick<SliceEndpoint, 'zone'> {
  const zone = read.string(endpoint, 'zone', `${path}.zone`)
  return zone === '' ? {} : { zone: sharedZones.get(zone) }
}

function parseHints(hints: JsonObject, field: string, path: string, read: JsonReader): readonly string[] {
  if (hints[field] === undefined || hints[field] === null) return noHints
  const names: string[] = []
  for (const [hint, index] of read.objects(hints, field, path)) {
    const name = read.string(hint, 'name', `${path}[${index}].name`)
    if (!names.includes(name)) names.push(name)
  }
  return names
}

function parseTriggerTime(annotations: JsonObject): number | undefined {
  const text = annotations[triggerTimeAnnotation]
  if (typeof text !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(text)) return undefined
  const time = Date.parse(text)
  return Number.isNaN(time) ? undefined : time
}
