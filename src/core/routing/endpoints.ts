/** From the slices of a Service to the endpoints of one of its ports. */
import { usualWeight, weightIn } from '../../api/parse-weights.ts'
import type { Protocol, SliceEndpoint, SlicePort, SliceRecord, WeightRules } from '../../api/records.ts'
import type { EndpointFindings } from '../care/endpoint-care.ts'
import { hostPort, isLoopback } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import type { Endpoint } from '../route.ts'
import type { ServingPolicy } from './serving-policy.ts'

/** Endpoints by `portName/protocol`, each list sorted by address. */
export type EndpointsByPort = ReadonlyMap<string, readonly Endpoint[]>

export function endpointPortId(portName: string, protocol: Protocol): string {
  return `${portName}/${protocol}`
}

/**
 * Merges the slices of one family. The same `ip:port` may appear twice while it moves between slices: an entry that is
 * not terminating beats one that is, and among equals the last one counts, in order of slice name.
 */
export function endpointsByPort(
  slices: Iterable<SliceRecord>,
  family: Family,
  nodeName: string,
  { allowLoopback, abilities }: Pick<ServingPolicy, 'allowLoopback' | 'abilities'>,
  weights?: WeightRules,
  findings?: EndpointFindings,
): EndpointsByPort {
  const merged = new Map<string, Map<string, Endpoint>>()
  const ordered = [...slices]
    .filter((slice) => slice.family === family)
    .sort((left, right) => compareText(left.name, right.name))
  for (const slice of ordered) {
    for (const port of slice.ports) {
      const id = endpointPortId(port.name, port.protocol)
      let byAddress = merged.get(id)
      if (byAddress === undefined) merged.set(id, (byAddress = new Map()))
      for (const source of slice.endpoints) {
        if (!allowLoopback && isLoopback(source.ip)) continue
        const rule = weightIn(slice.weights, source) ?? weightIn(weights, source) ?? usualWeight
        const weight = findings?.weigh?.(rule, source.ip) ?? rule
        const found = toEndpoint(
          source,
          port.port,
          nodeName,
          abilities.weights ? weight : Math.min(weight, usualWeight),
        )
        const { address } = found
        const isUnreachable = findings?.isUnreachable?.({ address, protocol: port.protocol }) === true
        const endpoint = isUnreachable ? { ...found, isUnreachable } : found
        if (endpoint.terminating && byAddress.has(endpoint.address)) continue
        byAddress.set(endpoint.address, endpoint)
      }
    }
  }
  const sorted = new Map<string, readonly Endpoint[]>()
  for (const [id, byAddress] of merged)
    sorted.set(
      id,
      [...byAddress.values()].sort((left, right) => compareText(left.address, right.address)),
    )
  return sorted
}

/** An endpoint of a Service that none of its ports of a family has, and why. */
export interface UnlistedEndpoint {
  readonly endpoint: SliceEndpoint
  readonly why: 'other family' | 'loopback address' | 'no such port'
  /** Of its slice. */
  readonly ports: readonly SlicePort[]
}

/** Those that the slices of a Service have, but not `endpointsByPort` for the port. */
export function unlistedEndpoints(
  slices: Iterable<SliceRecord>,
  family: Family,
  port: Pick<SlicePort, 'name' | 'protocol'>,
  { allowLoopback }: Pick<ServingPolicy, 'allowLoopback'>,
): readonly UnlistedEndpoint[] {
  const id = endpointPortId(port.name, port.protocol)
  return [...slices].flatMap(({ family: own, ports, endpoints }) =>
    endpoints.flatMap((endpoint): readonly UnlistedEndpoint[] => {
      if (own !== family) return [{ endpoint, why: 'other family', ports }]
      if (!allowLoopback && isLoopback(endpoint.ip)) return [{ endpoint, why: 'loopback address', ports }]
      const hasPort = ports.some(({ name, protocol }) => endpointPortId(name, protocol) === id)
      return hasPort ? [] : [{ endpoint, why: 'no such port', ports }]
    }),
  )
}

export type ZonesByIp = ReadonlyMap<string, string>

/** Routes do not have them: where an endpoint is changes nothing that is programmed. */
export function zonesOf(slices: Iterable<SliceRecord>): ZonesByIp {
  const zones = new Map<string, string>()
  for (const { endpoints } of slices) for (const { ip, zone } of endpoints) if (zone !== undefined) zones.set(ip, zone)
  return zones
}

function toEndpoint(source: SliceEndpoint, port: number, nodeName: string, weight: number): Endpoint {
  return {
    ip: source.ip,
    port,
    address: hostPort(source.ip, port),
    nodeName: source.nodeName,
    isLocal: nodeName !== '' && source.nodeName === nodeName,
    ready: source.ready,
    serving: source.serving,
    terminating: source.terminating,
    zoneHints: source.zoneHints,
    nodeHints: source.nodeHints,
    weight,
  }
}

/** Byte order, as Go sorts strings: "10.0.1.10:80" comes before "10.0.1.1:80". */
function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}
