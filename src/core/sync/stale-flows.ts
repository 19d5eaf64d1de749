/**
 * Which UDP flows still lead to an endpoint that is gone. The kernel keeps the translation of a flow as long as
 * packets come, and UDP clients do not reconnect, so such a flow would lose packets for ever.
 */
import { hostPort } from '../../net/ip.ts'
import type { Route } from '../route.ts'

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

type EndpointAddresses = ReadonlySet<string>

interface ServedAddresses {
  readonly byIpAndPort: Map<string, Map<number, EndpointAddresses>>
  readonly byNodePort: Map<number, EndpointAddresses>
}

const udp = 17

/** Looks at each flow once, and allocates nothing for the flows of others: a busy node has a million. */
export function selectStaleFlows(routes: Iterable<Route>, flows: Iterable<Flow>): Flow[] {
  const served = indexServedAddresses(routes)
  const stale: Flow[] = []
  for (const flow of flows) if (flow.protocol === udp && isStale(flow, served)) stale.push(flow)
  return stale
}

function isStale({ original, reply }: Flow, { byIpAndPort, byNodePort }: ServedAddresses): boolean {
  const port = original.destinationPort
  // kube-proxy matches node ports on any destination address, the addresses of other Services included.
  return (
    leadsElsewhere(reply, byIpAndPort.get(original.destinationIp)?.get(port)) ||
    leadsElsewhere(reply, byNodePort.get(port))
  )
}

function leadsElsewhere(reply: FlowDirection, endpoints: EndpointAddresses | undefined): boolean {
  return endpoints !== undefined && !endpoints.has(hostPort(reply.sourceIp, reply.sourcePort))
}

function indexServedAddresses(routes: Iterable<Route>): ServedAddresses {
  const served: ServedAddresses = { byIpAndPort: new Map(), byNodePort: new Map() }
  for (const route of routes) {
    if (route.protocol !== 'UDP') continue
    // Traffic policies and topology do not matter: they choose for new flows and must not cut old ones.
    const endpoints = new Set(route.endpoints.filter(({ serving }) => serving).map(({ address }) => address))
    // Nobody could take these flows over, so there is nothing to gain from deleting them.
    if (endpoints.size === 0) continue
    for (const ip of [route.clusterIP, ...route.loadBalancerIPs, ...route.externalIPs])
      add(portsOf(served.byIpAndPort, ip), route.port, endpoints)
    if (route.nodePort !== 0) add(served.byNodePort, route.nodePort, endpoints)
  }
  return served
}

function portsOf(byIpAndPort: ServedAddresses['byIpAndPort'], ip: string): Map<number, EndpointAddresses> {
  const ports = byIpAndPort.get(ip) ?? new Map<number, EndpointAddresses>()
  byIpAndPort.set(ip, ports)
  return ports
}

/** Two Services may claim one external IP and port; a flow to an endpoint of either is fine. */
function add(endpointsByPort: Map<number, EndpointAddresses>, port: number, endpoints: EndpointAddresses): void {
  const others = endpointsByPort.get(port)
  endpointsByPort.set(port, others === undefined ? endpoints : new Set([...others, ...endpoints]))
}
