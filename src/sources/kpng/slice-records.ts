/** The endpoints of a Service of a KPNG server, as slices that make our own router come to the same result. */
import { endpointAddress } from '../../api/address-rules.ts'
import { oneOf, ProblemList } from '../../api/field-checks.ts'
import type { ProblemNotes } from '../../api/field-checks.ts'
import { isEveryPort, protocols } from '../../api/port-range.ts'
import { objectKey } from '../../api/records.ts'
import type { Parsed, SliceEndpoint, SlicePort, SliceRecord } from '../../api/records.ts'
import type { Family } from '../../net/ip.ts'
import { families } from '../../net/ip.ts'
import { endpointPort } from '../../kpng/client/endpoint-port.ts'
import type { ServiceWithEndpoints } from '../../kpng/client/local-state.ts'
import type { Endpoint, Service } from '../../kpng/proto/generated/localv1/api.ts'
import { protocolName } from '../../kpng/wire/protocol-name.ts'
import { xxh64 } from '../../kpng/wire/xxh64.ts'
import { unknownProtocol } from './service-record.ts'

/** A port as the server says it. */
interface WirePort {
  readonly name: string
  readonly protocol: string
  readonly port: number
}

/** One slice for each family and set of ports, by name. */
export function sliceRecords(
  { service, endpointsByKey }: ServiceWithEndpoints,
  nodeName: string,
): ReadonlyMap<string, Parsed<SliceRecord>> {
  const endpoints = [...endpointsByKey.values()]
  return new Map(families.flatMap((family) => familySlices(service, endpoints, family, nodeName)))
}

function familySlices(
  service: Service,
  endpoints: readonly Endpoint[],
  family: Family,
  nodeName: string,
): readonly (readonly [string, Parsed<SliceRecord>])[] {
  const ofFamily = endpoints.filter((endpoint) => addressesOf(endpoint, family).length > 0)
  const needsHints = ofFamily.some((endpoint) => !servesWholeCluster(service, endpoint))
  const hintsFor = (endpoint: Endpoint): readonly string[] => {
    if (!needsHints) return noHints
    return [servesWholeCluster(service, endpoint) ? nodeName : nobody]
  }
  const byPorts = new Map<string, { readonly ports: readonly WirePort[]; readonly endpoints: Endpoint[] }>()
  for (const endpoint of ofFamily) {
    const ports = portsOf(service, endpoint)
    const id = JSON.stringify(ports)
    const slice = byPorts.get(id)
    if (slice === undefined) byPorts.set(id, { ports, endpoints: [endpoint] })
    else slice.endpoints.push(endpoint)
  }
  const { Namespace: namespace, Name: serviceName } = service
  return [...byPorts].map(([id, slice]) => {
    const name = `${serviceName}-${family}-${xxh64(Buffer.from(id)).toString(16)}`
    const notes = new ProblemList('EndpointSlice', objectKey({ namespace, name }))
    const record: SliceRecord = {
      kind: 'EndpointSlice',
      namespace,
      name,
      serviceName,
      family,
      ports: checkedPorts(slice.ports, notes),
      endpoints: sliceEndpoints(slice.endpoints, family, nodeName, hintsFor, notes),
      triggerTimeMs: undefined,
    }
    return [name, { ok: true, record, problems: notes.problems }]
  })
}

/**
 * Whether traffic with policy Cluster may use the endpoint. A local one that may not (topology keeps it for external
 * traffic, or it is shutting down) is told apart by hints: that is how a slice says "ready, but not for you". With both
 * policies Local, the external scope tells: Fairlead's servers put it there for us, and others send local ones only.
 */
function servesWholeCluster(service: Service, { Scopes: scopes }: Endpoint): boolean {
  if (scopes === undefined) return true
  return service.InternalTrafficToLocal ? scopes.External : scopes.Internal
}

/** No node can have this name. */
const nobody = '-'

const noHints: readonly string[] = []

function portsOf(service: Service, endpoint: Endpoint): readonly WirePort[] {
  return service.Ports.flatMap((port) => {
    const number = endpointPort(endpoint, port)
    const protocol = protocolName(port.Protocol) ?? unknownProtocol
    return number === undefined ? [] : [{ name: port.Name, protocol, port: number }]
  })
}

function checkedPorts(ports: readonly WirePort[], notes: ProblemNotes): readonly SlicePort[] {
  return ports.flatMap(({ name, protocol: word, port }, index) => {
    if (isEveryPort(port, `ports[${index}].port`, notes)) return []
    const protocol = oneOf(word, protocols, `ports[${index}].protocol`, notes)
    return protocol === undefined ? [] : [{ name, protocol, port }]
  })
}

function sliceEndpoints(
  endpoints: readonly Endpoint[],
  family: Family,
  nodeName: string,
  hintsFor: (endpoint: Endpoint) => readonly string[],
  notes: ProblemNotes,
): readonly SliceEndpoint[] {
  const known: SliceEndpoint[] = []
  let index = 0
  for (const endpoint of endpoints)
    for (const text of addressesOf(endpoint, family)) {
      const ip = endpointAddress(text, family, `endpoints[${index++}].addresses[0]`, notes)
      if (ip === undefined) continue
      known.push({
        ip,
        nodeName: endpoint.Local ? nodeName : '',
        ready: true,
        serving: true,
        terminating: false,
        zoneHints: noHints,
        nodeHints: hintsFor(endpoint),
      })
    }
  return known
}

function addressesOf({ IPs }: Endpoint, family: Family): readonly string[] {
  return (family === 'ipv4' ? IPs?.V4 : IPs?.V6) ?? []
}
