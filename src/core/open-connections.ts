/**
 * Whose the connections are that a kernel tracks: by the address and port that the client asked for, and by who answers.
 */
import { hostPort } from '../net/ip.ts'
import type { Protocol } from '../api/records.ts'
import { RangesByIp } from './ranges-by-ip.ts'
import type { Route, RouteKey } from './route.ts'
import type { Flow } from './sync/stale-flows.ts'
import type { RouteTraffic, Traffic } from './traffic.ts'

export interface TrackedConnection extends Flow {
  readonly isOpen: boolean
  /** From the client. Unknown where the kernel keeps no account of it. */
  readonly bytesIn?: number
  /** To the client. */
  readonly bytesOut?: number
}

const openStates: ReadonlySet<string> = new Set(['SYN_RECV', 'ESTABLISHED', 'FIN_WAIT', 'CLOSE_WAIT'])

/**
 * From the first answer until both sides have said that they are done. Undefined for a protocol without states, whose
 * flows are there until the kernel forgets them.
 */
export function isOpenTcpState(state: string | undefined): boolean {
  return state === undefined || openStates.has(state)
}

interface Sum {
  open: number
  bytesIn: number
  bytesOut: number
}

interface RouteSum extends Sum {
  readonly byEndpoint: Map<string, Sum>
}

/** Looks at each connection once, and allocates nothing for those of others: a busy node has a million. */
export class OpenConnections {
  readonly #byIp = new Map<string, Map<number, Route>>()
  readonly #byNodePort = new Map<number, Route>()
  readonly #byRange = new RangesByIp<Route>()
  readonly #routes: Iterable<Route>
  readonly #sums = new Map<RouteKey, RouteSum>()
  readonly #addressesByKey = new Map<RouteKey, ReadonlySet<string>>()

  constructor(routes: Iterable<Route>) {
    this.#routes = routes
    for (const route of routes) {
      const protocol = protocolNumbers[route.protocol]
      for (const entrance of route.entrances) {
        const place = placeOf(protocol, entrance.port)
        if (entrance.kind === 'node-port') putFirst(this.#byNodePort, place, route)
        else putFirst(this.#portsOf(entrance.ip), place, route)
      }
      for (const { ip, port, lastPort } of route.ranges ?? [])
        this.#byRange.add(ip, placeOf(protocol, port), placeOf(protocol, lastPort), route)
    }
  }

  add(connection: TrackedConnection): void {
    if (!connection.isOpen) return
    const { protocol, original, reply } = connection
    const place = placeOf(protocol, original.destinationPort)
    const byAddress = this.#byIp.get(original.destinationIp)?.get(place)
    const route = byAddress ?? this.#byNodePort.get(place)
    const endpoint = hostPort(reply.sourceIp, reply.sourcePort)
    // A node port is open on many addresses, and others may serve the same port there.
    if (route === undefined || (byAddress === undefined && !this.#addressesOf(route).has(endpoint))) {
      this.#addInRange(connection, place)
      return
    }
    // It was not translated: the kernel itself, or nobody, has answered.
    if (reply.sourceIp === original.destinationIp && reply.sourcePort === original.destinationPort) return
    this.#count(route, endpoint, connection)
  }

  /** It counts for the endpoint as the Service knows it, whatever the port. */
  #addInRange(connection: TrackedConnection, place: number): void {
    const { original, reply } = connection
    const route = this.#byRange.at(original.destinationIp, place)
    if (route === undefined || reply.sourceIp === original.destinationIp) return
    const known = route.endpoints.find(({ ip }) => ip === reply.sourceIp)
    this.#count(route, known?.address ?? hostPort(reply.sourceIp, reply.sourcePort), connection)
  }

  /** Reading starts over. */
  reset(): void {
    this.#sums.clear()
  }

  /** Of every route. `hasBytes`: the kernel keeps account of bytes. */
  traffic(hasBytes: boolean): ReadonlyMap<RouteKey, RouteTraffic> {
    const traffic = new Map<RouteKey, RouteTraffic>()
    for (const { key, reachableEndpoints } of this.#routes) {
      const sum = this.#sums.get(key)
      const endpoints = new Map<string, Traffic>()
      for (const { address } of reachableEndpoints) endpoints.set(address, trafficOf(nothing, hasBytes))
      for (const [address, each] of sum?.byEndpoint ?? []) endpoints.set(address, trafficOf(each, hasBytes))
      traffic.set(key, { ...trafficOf(sum ?? nothing, hasBytes), endpoints })
    }
    return traffic
  }

  #count({ key }: Route, endpoint: string, connection: TrackedConnection): void {
    let sum = this.#sums.get(key)
    if (sum === undefined) this.#sums.set(key, (sum = { open: 0, bytesIn: 0, bytesOut: 0, byEndpoint: new Map() }))
    let each = sum.byEndpoint.get(endpoint)
    if (each === undefined) sum.byEndpoint.set(endpoint, (each = { open: 0, bytesIn: 0, bytesOut: 0 }))
    for (const one of [sum, each]) {
      one.open++
      one.bytesIn += connection.bytesIn ?? 0
      one.bytesOut += connection.bytesOut ?? 0
    }
  }

  #portsOf(ip: string): Map<number, Route> {
    const ports = this.#byIp.get(ip) ?? new Map<number, Route>()
    this.#byIp.set(ip, ports)
    return ports
  }

  #addressesOf({ key, endpoints }: Route): ReadonlySet<string> {
    const known = this.#addressesByKey.get(key) ?? new Set(endpoints.map(({ address }) => address))
    this.#addressesByKey.set(key, known)
    return known
  }
}

const nothing: Sum = { open: 0, bytesIn: 0, bytesOut: 0 }

const protocolNumbers: Readonly<Record<Protocol, number>> = { TCP: 6, UDP: 17, SCTP: 132 }

function placeOf(protocol: number, port: number): number {
  return protocol * 65_536 + port
}

/** The first one has the address, as in the data planes. */
function putFirst(byPlace: Map<number, Route>, place: number, route: Route): void {
  if (!byPlace.has(place)) byPlace.set(place, route)
}

function trafficOf({ open, bytesIn, bytesOut }: Sum, hasBytes: boolean): Traffic {
  return { open, ...(hasBytes && { openBytesIn: bytesIn, openBytesOut: bytesOut }) }
}
