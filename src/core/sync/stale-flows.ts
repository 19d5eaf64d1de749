/**
 * Which UDP flows still lead to an endpoint that is gone. The kernel keeps the translation of a flow as long as
 * packets come, and UDP clients do not reconnect, so such a flow would lose packets for ever.
 */
import { hostPort } from '../../net/ip.ts'
import type { Entrance, RangeEntrance, Route } from '../route.ts'
import { RangesByIp } from '../ranges-by-ip.ts'

/** One direction of a flow; addresses are canonical texts. */
export interface FlowDirection {
  readonly sourceIp: string
  readonly sourcePort: number
  readonly destinationIp: string
  readonly destinationPort: number
}

/** What identifies a flow in the kernel's connection table: the protocol number and both directions. */
export interface Flow {
  readonly protocol: number
  readonly original: FlowDirection
  /** Its source is whoever answers: the endpoint, once the flow is translated. */
  readonly reply: FlowDirection
}

/** Where UDP flows for some entrances may lead, as `ip:port`. */
export interface FlowTargets {
  readonly entrances: readonly Entrance[]
  readonly addresses: ReadonlySet<string>
  /** Whoever has one of these addresses may answer at the port that the client asked for. */
  readonly inRanges?: { readonly ranges: readonly RangeEntrance[]; readonly ips: ReadonlySet<string> }
}

type Addresses = FlowTargets['addresses']

interface ServedAddresses {
  readonly byIpAndPort: Map<string, Map<number, Addresses>>
  readonly byNodePort: Map<number, Addresses>
  readonly byRange: RangesByIp<ReadonlySet<string>>
}

const udp = 17

/** Looks at each flow once, and allocates nothing for the flows of others: a busy node has a million. */
export function selectStaleFlows(targets: Iterable<FlowTargets>, flows: Iterable<Flow>): Flow[] {
  const served = indexServedAddresses(targets)
  const stale: Flow[] = []
  for (const flow of flows) if (flow.protocol === udp && isStale(flow, served)) stale.push(flow)
  return stale
}

function isStale({ original, reply }: Flow, { byIpAndPort, byNodePort, byRange }: ServedAddresses): boolean {
  const { destinationIp: ip, destinationPort: port } = original
  const byAddress = byIpAndPort.get(ip)?.get(port)
  const inRange = byAddress === undefined ? byRange.at(ip, port) : undefined
  if (inRange?.has(reply.sourceIp) === true && reply.sourcePort === port) return false
  // kube-proxy matches node ports on any destination address, the addresses of other Services included.
  const byPort = byNodePort.get(port)
  const isInRangeOnly = inRange !== undefined && byPort === undefined
  return isInRangeOnly || leadsElsewhere(reply, byAddress) || leadsElsewhere(reply, byPort)
}

function leadsElsewhere(reply: FlowDirection, addresses: Addresses | undefined): boolean {
  return addresses !== undefined && !addresses.has(hostPort(reply.sourceIp, reply.sourcePort))
}

/** Traffic policies and topology do not matter: they choose for new flows and must not cut old ones. */
export function flowTargetsOf(routes: Iterable<Route>): readonly FlowTargets[] {
  const targets: FlowTargets[] = []
  for (const { protocol, entrances, ranges, endpoints } of routes) {
    if (protocol !== 'UDP') continue
    const serving = endpoints.filter((endpoint) => endpoint.serving)
    const addresses = new Set(serving.map(({ address }) => address))
    // Nobody could take these flows over, so there is nothing to gain from deleting them.
    if (addresses.size === 0) continue
    const inRanges = ranges && { ranges, ips: new Set(serving.map(({ ip }) => ip)) }
    targets.push({ entrances, addresses, ...(inRanges && { inRanges }) })
  }
  return targets
}

function indexServedAddresses(targets: Iterable<FlowTargets>): ServedAddresses {
  const served: ServedAddresses = { byIpAndPort: new Map(), byNodePort: new Map(), byRange: new RangesByIp() }
  for (const { entrances, addresses, inRanges } of targets) {
    for (const entrance of entrances) {
      const byPort = entrance.kind === 'node-port' ? served.byNodePort : portsOf(served.byIpAndPort, entrance.ip)
      add(byPort, entrance.port, addresses)
    }
    for (const { ip, port, lastPort } of inRanges?.ranges ?? [])
      served.byRange.add(ip, port, lastPort, inRanges?.ips ?? addresses)
  }
  return served
}

function portsOf(byIpAndPort: ServedAddresses['byIpAndPort'], ip: string): Map<number, Addresses> {
  const ports = byIpAndPort.get(ip) ?? new Map<number, Addresses>()
  byIpAndPort.set(ip, ports)
  return ports
}

/** Two Services may claim one external IP and port; a flow to an endpoint of either is fine. */
function add(addressesByPort: Map<number, Addresses>, port: number, addresses: Addresses): void {
  const others = addressesByPort.get(port)
  addressesByPort.set(port, others === undefined ? addresses : new Set([...others, ...addresses]))
}
