/**
 * What the hooks at the sockets know of one Service port: where clients ask for it, and who may serve them. Whatever a hook
 * cannot do exactly is left to the packets, with the reason.
 */
import { tableSlotsOf } from '../../core/balance/slots.ts'
import { leftForAffinity, whyEntranceIsLeft, whyRouteIsLeft } from '../../core/left-to-packets.ts'
import type { Endpoint, Outcome, Route, RouteKey } from '../../core/route.ts'
import { familyOf } from '../../net/ip.ts'
import type { Family } from '../../net/ip.ts'
import { listBits, longestList } from './layout.ts'
import type { Frontend, ListName } from './layout.ts'

export const listNames = ['internal', 'external'] as const satisfies readonly ListName[]

/** Names a frontend within its family: `10.96.10.10 tcp 80`, or `node-port tcp 30080`. */
export type FrontendId = string & { readonly brand: 'FrontendId' }

export interface PlannedFrontend {
  readonly id: FrontendId
  readonly frontend: Frontend
  readonly list: ListName
  /** The programs look at loopback addresses only: elsewhere the packets serve. */
  readonly isOnLoopbackOnly: boolean
}

/** What a client gets. Every client of a hook is on this node, so these are the outcomes for clients inside. */
export type PlannedList =
  /** `ip:port` of each, as in `Endpoint.address`. One with a larger share is there several times. */
  | { readonly kind: 'endpoints'; readonly addresses: readonly string[] }
  /** `refuse`: nobody can serve, and a TCP client is told at once. `pass`: the packets decide. */
  | { readonly kind: 'refuse' | 'pass' }

export interface PlannedEndpoint {
  readonly address: string
  readonly ip: string
  readonly port: number
  /** Bits of the lists that new clients may get it from. None: only who has it already may go on with it. */
  readonly lists: number
}

interface LeftToPackets {
  readonly id: FrontendId
  readonly why: string
}

export interface SocketRoute {
  readonly key: RouteKey
  readonly family: Family
  readonly protocol: Route['protocol']
  readonly frontends: readonly PlannedFrontend[]
  readonly leftToPackets: readonly LeftToPackets[]
  readonly lists: Readonly<Record<ListName, PlannedList>>
  readonly endpoints: readonly PlannedEndpoint[]
  /** 0: no affinity. */
  readonly affinitySeconds: number
  readonly roundRobin: boolean
}

export function socketRoute(route: Route, isOfThisNode: (ip: string) => boolean): SocketRoute {
  const { key, family, protocol, internal, external, affinitySeconds, traffic } = route
  const why = whyRouteIsLeft(route, reach)
  const { frontends, leftToPackets } = splitEntrances(route, why, isOfThisNode)
  return {
    key,
    family,
    protocol,
    frontends,
    leftToPackets,
    // Nobody reads the lists of a route that is left whole, and there may be no room for them.
    lists: why === undefined ? { internal: listOf(internal.inside), external: listOf(external?.inside) } : passAll,
    endpoints: endpointsOf(route),
    affinitySeconds: affinitySeconds ?? 0,
    roundRobin: traffic?.algorithm === 'round-robin',
  }
}

const reach = { protocols: ['TCP', 'UDP'], longestList } as const

export function frontendId(frontend: Frontend): FrontendId {
  const where = frontend.scope === 'address' ? frontend.ip : 'node-port'
  return `${where} ${protocolNames[frontend.protocol]} ${frontend.port}` as FrontendId
}

const protocolNames = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' } as const satisfies Record<Route['protocol'], string>

/** As in `routeName`. Thousands of routes are planned at once, and hardly one is asked for it. */
export function nameOf({ key }: Pick<SocketRoute, 'key'>): string {
  return key.slice(0, key.lastIndexOf('/'))
}

export function familyOfFrontend(frontend: Frontend): Family {
  return frontend.scope === 'address' ? familyOf(frontend.ip) : frontend.family
}

function splitEntrances(
  route: Route,
  whyWhole: string | undefined,
  isOfThisNode: (ip: string) => boolean,
): Pick<SocketRoute, 'frontends' | 'leftToPackets'> {
  const { family, protocol, entrances, affinitySeconds } = route
  const frontends: PlannedFrontend[] = []
  let leftToPackets: LeftToPackets[] | undefined
  for (const entrance of entrances) {
    const { port } = entrance
    // SCTP has no frontend, but a name.
    const named = protocol as Frontend['protocol']
    const frontend: Frontend =
      entrance.kind === 'node-port'
        ? { scope: 'node-port', family, port, protocol: named }
        : { scope: 'address', ip: entrance.ip, port, protocol: named }
    const id = frontendId(frontend)
    // The first entrance counts where a Service names an address twice.
    if (isNamed(id, frontends) || isNamed(id, leftToPackets)) continue
    const why = whyWhole ?? whyEntranceIsLeft(entrance, route, isOfThisNode)
    // A client has one memory, and what is left to the packets for other reasons is remembered there. Packets do not reach
    // node ports on loopback addresses, so nobody remembers those but the programs.
    const hasAffinity = affinitySeconds !== undefined
    if (why !== undefined || hasAffinity) (leftToPackets ??= []).push({ id, why: why ?? leftForAffinity })
    if (why === undefined && (!hasAffinity || entrance.kind === 'node-port'))
      frontends.push({
        id,
        frontend,
        list: entrance.kind === 'cluster-ip' ? 'internal' : 'external',
        isOnLoopbackOnly: hasAffinity,
      })
  }
  return { frontends, leftToPackets: leftToPackets ?? nothing }
}

const nothing: readonly never[] = []

function isNamed(id: FrontendId, list: readonly { readonly id: FrontendId }[] = nothing): boolean {
  for (const other of list) if (other.id === id) return true
  return false
}

function listOf(outcome: Outcome | undefined): PlannedList {
  switch (outcome?.kind) {
    case 'forward':
      return { kind: 'endpoints', addresses: tableSlotsOf(outcome.to).map(({ address }) => address) }
    case 'reject':
      return refuse
    case 'drop': // A dropped packet is sent again and may get through; a hook cannot wait.
    case undefined:
      return pass
    default:
      return outcome satisfies never
  }
}

const refuse: PlannedList = { kind: 'refuse' }
const pass: PlannedList = { kind: 'pass' }
const passAll: SocketRoute['lists'] = { internal: pass, external: pass }

/** Those of the lists, and those that still serve: datagrams that go there may go on, whatever policy and topology say now. */
function endpointsOf(route: Route): readonly PlannedEndpoint[] {
  const { endpoints } = route
  const internal = membersOf(route.internal.inside, endpoints)
  const external = membersOf(route.external?.inside, endpoints)
  const planned: PlannedEndpoint[] = []
  for (const { address, ip, port, serving } of endpoints) {
    const bits =
      (isMember(address, internal) ? listBits.internal : 0) | (isMember(address, external) ? listBits.external : 0)
    if (bits !== 0 || serving) planned.push({ address, ip, port, lists: bits })
  }
  return planned
}

/** Most lists have all endpoints, or none, and there are thousands of them: a set for each would be most of the work. */
type Members = 'all' | 'none' | ReadonlySet<string>

function membersOf(outcome: Outcome | undefined, all: readonly Endpoint[]): Members {
  if (outcome?.kind !== 'forward') return 'none'
  return outcome.to.length === all.length ? 'all' : new Set(outcome.to.map(({ address }) => address))
}

function isMember(address: string, members: Members): boolean {
  return members === 'all' || (members !== 'none' && members.has(address))
}
