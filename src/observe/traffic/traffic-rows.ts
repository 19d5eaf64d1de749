/** What Services carry, as rows of a table: chosen, sorted and cut to a length. */
import type { Route } from '../../core/route.ts'
import { routeName } from '../../core/route.ts'
import { skewOf } from '../../core/skew.ts'
import type { Skew } from '../../core/skew.ts'
import type { RouteTraffic, Traffic } from '../../core/traffic.ts'
import type { Family } from '../../net/ip.ts'
import type { CarriedView } from './traffic-book.ts'

export const sortKeys = ['connections', 'open', 'bytes', 'rate', 'failures', 'skew', 'last-use', 'name'] as const
export type SortKey = (typeof sortKeys)[number]

/** What the mode cannot know is missing. */
export interface TrafficRow extends Omit<Traffic, 'lastUsedMs'> {
  readonly service: string
  readonly namespace: string
  readonly protocol: string
  readonly family: Family
  readonly address: string
  readonly endpointCount: number
  readonly lastUsed?: string
  /** New connections per second, and bytes per second in both directions, since the reading before. */
  readonly connectionRate?: number
  readonly byteRate?: number
  readonly turnedAway?: Readonly<Record<string, number>>
  /** Connections that a limit of the Service acted on; absent where there were none. */
  readonly limited?: Readonly<Record<string, number>>
  readonly skew?: Skew
  readonly endpoints?: readonly EndpointRow[]
}

export interface EndpointRow extends Omit<Traffic, 'lastUsedMs'> {
  readonly address: string
  /** The Service has it no more, or may not use it, but connections to it are still open. */
  readonly isGone?: boolean
  readonly lastUsed?: string
  readonly connectionRate?: number
  readonly byteRate?: number
}

export interface TrafficTable {
  readonly readings: readonly { readonly family: Family; readonly at: string; readonly secondsBefore?: number }[]
  /** Which bytes are known: of all connections, of those that are open now, or none. */
  readonly bytes: 'all' | 'of open connections' | 'unknown'
  /** What is not known or not kept, and why: sentences, each once. */
  readonly notes: readonly string[]
  /** Service ports that match. */
  readonly total: number
  readonly services: readonly TrafficRow[]
}

export interface TrafficQuery {
  readonly sort: SortKey
  readonly limit: number
  readonly withEndpoints: boolean
  /** Undefined: all. */
  readonly namespace: string | undefined
  /** A part of the Service's name, of its address, or of that of an endpoint. */
  readonly filter: string | undefined
}

export function trafficTable(carried: readonly CarriedView[], query: TrafficQuery): TrafficTable {
  const matching = carried.flatMap((one) => matchesIn(one, query))
  // Only those that are shown become rows: there may be tens of thousands of others.
  const weighed = matching.map((match) => ({ match, weight: weightOf(match, query.sort) }))
  weighed.sort((a, b) => b.weight - a.weight || (a.match.name < b.match.name ? -1 : 1))
  return {
    readings: carried.map(({ view, atMs, before }) => ({
      family: view.family,
      at: new Date(atMs).toISOString(),
      ...(before && { secondsBefore: (atMs - before.atMs) / 1000 }),
    })),
    bytes: knownBytes(carried),
    notes: [...new Set(carried.flatMap(({ note }) => note ?? []))],
    total: matching.length,
    services: weighed.slice(0, query.limit).map(({ match }) => rowOf(match, query)),
  }
}

interface Match {
  readonly name: string
  readonly route: Route
  readonly traffic: RouteTraffic
  readonly before: RouteTraffic | undefined
  readonly seconds: number | undefined
}

function matchesIn({ view, traffic, atMs, before }: CarriedView, query: TrafficQuery): readonly Match[] {
  const seconds = before && (atMs - before.atMs) / 1000
  const matches: Match[] = []
  for (const [key, route] of view.routesByKey) {
    const carried = traffic.get(key)
    const name = routeName(route)
    if (carried === undefined || !isAsked(route, name, query)) continue
    matches.push({ name, route, traffic: carried, before: before?.traffic.get(key), seconds })
  }
  return matches
}

function isAsked(route: Route, name: string, { namespace, filter }: TrafficQuery): boolean {
  if (namespace !== undefined && route.namespace !== namespace) return false
  if (filter === undefined) return true
  return (
    name.includes(filter) ||
    route.entrances.some((entrance) => entrance.kind !== 'node-port' && entrance.ip.includes(filter)) ||
    route.endpoints.some(({ address }) => address.includes(filter))
  )
}

/** More comes first; what is unknown comes last. */
function weightOf({ route, traffic, before, seconds }: Match, sort: SortKey): number {
  switch (sort) {
    case 'connections':
      return traffic.connections ?? -1
    case 'open':
      return traffic.open ?? -1
    case 'bytes':
      return bytesOf(traffic) ?? -1
    case 'rate':
      return rates(traffic, before, seconds).connectionRate ?? -1
    case 'failures':
      return failuresOf(traffic)
    case 'skew':
      return skewOf(route, traffic)?.ratio ?? -1
    case 'last-use':
      return traffic.lastUsedMs ?? -1
    case 'name':
      return 0
    default:
      return sort satisfies never
  }
}

/** Dials that failed, and connections that no endpoint saw. */
export function failuresOf({
  dialFailures = 0,
  turnedAway = {},
}: Pick<RouteTraffic, 'dialFailures' | 'turnedAway'>): number {
  return Object.values(turnedAway).reduce((sum, count) => sum + count, dialFailures)
}

function rowOf({ name, route, traffic, before, seconds }: Match, { withEndpoints }: TrafficQuery): TrafficRow {
  const { namespace, protocol, family, clusterIP, port, reachableEndpoints } = route
  const { turnedAway, limited, endpoints } = traffic
  const skew = skewOf(route, traffic)
  return {
    service: name,
    namespace,
    protocol,
    family,
    address: family === 'ipv6' ? `[${clusterIP}]:${port}` : `${clusterIP}:${port}`,
    endpointCount: reachableEndpoints.length,
    ...numbersOf(traffic),
    ...rates(traffic, before, seconds),
    ...(turnedAway && { turnedAway }),
    ...(limited && Object.values(limited).some((count) => count > 0) && { limited }),
    ...(skew && { skew }),
    ...(withEndpoints && endpoints && { endpoints: endpointRows(route, endpoints, before, seconds) }),
  }
}

function endpointRows(
  { reachableEndpoints }: Route,
  endpoints: ReadonlyMap<string, Traffic>,
  before: RouteTraffic | undefined,
  seconds: number | undefined,
): readonly EndpointRow[] {
  const usable = new Set(reachableEndpoints.map(({ address }) => address))
  const addresses = [...usable, ...[...endpoints.keys()].filter((address) => !usable.has(address))]
  return addresses.map((address) => {
    const traffic = endpoints.get(address) ?? {}
    return {
      address,
      ...(!usable.has(address) && { isGone: true }),
      ...numbersOf(traffic),
      ...rates(traffic, before?.endpoints?.get(address), seconds),
    }
  })
}

function numbersOf(traffic: RouteTraffic): Omit<Traffic, 'lastUsedMs'> & { readonly lastUsed?: string } {
  const { lastUsedMs, turnedAway: _reasons, limited: _limited, endpoints: _endpoints, ...numbers } = traffic
  return { ...numbers, ...(lastUsedMs !== undefined && { lastUsed: new Date(lastUsedMs).toISOString() }) }
}

/** Since the reading before. */
export function rates(
  now: Traffic,
  before: Traffic | undefined,
  seconds: number | undefined,
): { readonly connectionRate?: number; readonly byteRate?: number } {
  if (before === undefined || seconds === undefined || seconds <= 0) return {}
  const perSecond = (a: number | undefined, b: number | undefined) =>
    a === undefined || b === undefined ? undefined : Math.max(0, a - b) / seconds
  const connectionRate = perSecond(now.connections, before.connections)
  // Bytes of open connections go when a connection ends: their difference is no rate.
  const byteRate = perSecond(allBytes(now), allBytes(before))
  return { ...(connectionRate !== undefined && { connectionRate }), ...(byteRate !== undefined && { byteRate }) }
}

function allBytes({ bytesIn, bytesOut }: Traffic): number | undefined {
  return bytesIn === undefined && bytesOut === undefined ? undefined : (bytesIn ?? 0) + (bytesOut ?? 0)
}

export function bytesOf(traffic: Traffic): number | undefined {
  const { openBytesIn, openBytesOut } = traffic
  const ofOpen =
    openBytesIn === undefined && openBytesOut === undefined ? undefined : (openBytesIn ?? 0) + (openBytesOut ?? 0)
  return allBytes(traffic) ?? ofOpen
}

function knownBytes(carried: readonly CarriedView[]): TrafficTable['bytes'] {
  let isOfOpen = false
  for (const { traffic } of carried)
    for (const one of traffic.values()) {
      if (allBytes(one) !== undefined) return 'all'
      isOfOpen ||= one.openBytesIn !== undefined
    }
  return isOfOpen ? 'of open connections' : 'unknown'
}
