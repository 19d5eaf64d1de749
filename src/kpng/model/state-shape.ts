/**
 * The shapes of KPNG's records and of its state file, which has them in lower case. Any other field in a file is an
 * error.
 */
import * as rule from './field-rules.ts'
import type { NumberRange, TextRule } from './field-rules.ts'

/** How the text of a value becomes a message field, and back, and what the field may contain. */
export type Shape =
  | { readonly kind: 'flag' | 'ignored' }
  | { readonly kind: 'text' | 'texts'; readonly rule: TextRule }
  | { readonly kind: 'map'; readonly rule: TextRule }
  | { readonly kind: 'number'; readonly range: NumberRange }
  | { readonly kind: 'object'; readonly fields: Readonly<Record<string, Shape>> }
  | { readonly kind: 'list'; readonly of: Shape }

const flag: Shape = { kind: 'flag' }
const ignored: Shape = { kind: 'ignored' }
const port = number(rule.portNumber)
const portOrNone = number(rule.portNumberOrNone)
const nameOrNone = text(rule.objectNameOrNone)
const portName = text(rule.portName)
const labels: Shape = { kind: 'map', rule: rule.plainText }
/** Annotations may contain whole documents. */
const annotations: Shape = { kind: 'map', rule: rule.anyText }
const ipSet = object({ V4: texts(rule.ipv4), V6: texts(rule.ipv6) })
const topology = object({ Node: nameOrNone, Zone: nameOrNone })

export const serviceShape = object({
  Namespace: text(rule.objectName),
  Name: text(rule.objectName),
  Type: text(rule.serviceType),
  IPs: object({ ClusterIPs: ipSet, ExternalIPs: ipSet, LoadBalancerIPs: ipSet, Headless: flag }),
  MapIP: flag,
  Ports: list(
    object({
      Name: portName,
      Protocol: number({ min: 0, max: 3 }),
      Port: port,
      NodePort: portOrNone,
      TargetPort: portOrNone,
      TargetPortName: portName,
    }),
  ),
  ExternalTrafficToLocal: flag,
  InternalTrafficToLocal: flag,
  Labels: labels,
  Annotations: annotations,
  IPFilters: list(object({ TargetIPs: ipSet, SourceRanges: texts(rule.cidr) })),
  SessionAffinity: object({ ClientIP: object({ TimeoutSeconds: number(rule.anyNumber) }) }),
  HealthCheckNodePort: portOrNone,
})

export const endpointShape = object({
  Hostname: nameOrNone,
  IPs: ipSet,
  Local: flag,
  PortOverrides: list(object({ Name: portName, Port: portOrNone })),
  Scopes: object({ Internal: flag, External: flag }),
})

export const endpointInfoShape = endpointInfo(text(rule.objectName))

export const nodeShape = object({
  Name: text(rule.objectName),
  Topology: topology,
  Labels: labels,
  Annotations: annotations,
})

export const stateShape: Shape = object({
  Nodes: list(nodeShape),
  // Files of KPNG name the Service of each endpoint, but here it is the one above it.
  Services: list(object({ Service: serviceShape, Endpoints: list(endpointInfo(ignored)) })),
})

function endpointInfo(owner: Shape): Shape {
  return object({
    // Computed again.
    Hash: ignored,
    Namespace: owner,
    SourceName: owner,
    ServiceName: owner,
    PodName: nameOrNone,
    Endpoint: endpointShape,
    Conditions: object({ Ready: flag }),
    Topology: topology,
    Hints: object({ Zones: texts(rule.objectName) }),
  })
}

function text(wanted: TextRule): Shape {
  return { kind: 'text', rule: wanted }
}

function texts(wanted: TextRule): Shape {
  return { kind: 'texts', rule: wanted }
}

function number(range: NumberRange): Shape {
  return { kind: 'number', range }
}

function object(fields: Readonly<Record<string, Shape>>): Shape {
  return { kind: 'object', fields }
}

function list(of: Shape): Shape {
  return { kind: 'list', of }
}
