/** The shape of KPNG's state file: the names of the messages in lower case. Whatever else is in a file is an error. */

/** How the text form of a value becomes a message field, and back. */
export type Shape =
  | { readonly kind: 'text' | 'number' | 'flag' | 'texts' | 'map' | 'ignored' }
  | { readonly kind: 'object'; readonly fields: Readonly<Record<string, Shape>> }
  | { readonly kind: 'list'; readonly of: Shape }

const text: Shape = { kind: 'text' }
const number: Shape = { kind: 'number' }
const flag: Shape = { kind: 'flag' }
const texts: Shape = { kind: 'texts' }
const map: Shape = { kind: 'map' }

function object(fields: Readonly<Record<string, Shape>>): Shape {
  return { kind: 'object', fields }
}

function list(of: Shape): Shape {
  return { kind: 'list', of }
}

const ipSet = object({ V4: texts, V6: texts })
const topology = object({ Node: text, Zone: text })

const service = object({
  Namespace: text,
  Name: text,
  Type: text,
  IPs: object({ ClusterIPs: ipSet, ExternalIPs: ipSet, LoadBalancerIPs: ipSet, Headless: flag }),
  MapIP: flag,
  Ports: list(
    object({ Name: text, Protocol: number, Port: number, NodePort: number, TargetPort: number, TargetPortName: text }),
  ),
  ExternalTrafficToLocal: flag,
  InternalTrafficToLocal: flag,
  Labels: map,
  Annotations: map,
  IPFilters: list(object({ TargetIPs: ipSet, SourceRanges: texts })),
  SessionAffinity: object({ ClientIP: object({ TimeoutSeconds: number }) }),
  HealthCheckNodePort: number,
})

const endpoint = object({
  // Computed anew, or taken from the Service; files of KPNG have them.
  Hash: { kind: 'ignored' },
  Namespace: { kind: 'ignored' },
  SourceName: { kind: 'ignored' },
  ServiceName: { kind: 'ignored' },
  PodName: text,
  Endpoint: object({
    Hostname: text,
    IPs: ipSet,
    Local: flag,
    PortOverrides: list(object({ Name: text, Port: number })),
    Scopes: object({ Internal: flag, External: flag }),
  }),
  Conditions: object({ Ready: flag }),
  Topology: topology,
  Hints: object({ Zones: texts }),
})

export const stateShape: Shape = object({
  Nodes: list(object({ Name: text, Topology: topology, Labels: map, Annotations: map })),
  Services: list(object({ Service: service, Endpoints: list(endpoint) })),
})
